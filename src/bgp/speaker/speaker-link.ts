/**
 * Maintains one connection to the speaker as long as the service runs: connects, reconciles routes and neighbors,
 * follows the sessions, detects failures and reconnects with growing pauses.
 */
import { Backoff, type RetryTimes } from "../../system/backoff.ts";
import type { Clock } from "../../system/clock.ts";
import { within } from "../../system/deadline.ts";
import { Pause } from "../../system/pause.ts";
import type { Timers } from "../../system/timers.ts";
import type { LearnedLimits } from "../learned-limits.ts";
import type { RouteReconciler } from "../route-reconciler.ts";
import { WakeSignal } from "../wake-signal.ts";
import { SPEAKER_STABLE_MS } from "./crash-suspects.ts";
import { type Session, toSession } from "./neighbor.ts";
import { isPrefixLimit, type PeerNotification } from "./peer-notification.ts";
import type { Speaker } from "./speaker.ts";
import type { ApiVersion, SpeakerClient } from "./speaker-client.ts";
import { asError, SpeakerFault } from "./speaker-fault.ts";

/** Interval while the speaker sends a neighbor no changes: withdrawals wait for the end of that. */
const DEFERRING_POLL_MS = 100;
/** Longest time until neighbors have received the end of their sessions. */
const SESSIONS_END_MS = 500;
const SESSIONS_POLL_MS = 5;

export interface LinkTimes extends RetryTimes {
  /** Interval of polling the sessions, which also detects a hung speaker. Changes are also reported at once. */
  readonly pollMs: number;
  /** Interval of full comparisons between the speaker's routes and the wanted ones. */
  readonly checkMs: number;
}

interface SpeakerLinkOptions {
  readonly speaker: Speaker;
  readonly reconciler: RouteReconciler;
  readonly learned: Pick<LearnedLimits, "found" | "takeOthers">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly times: LinkTimes;
  /** Routes and neighbors are reconciled, and sessions are followed. */
  readonly onUp: (version: ApiVersion) => void;
  /** The speaker failed. Called after each failed attempt. */
  readonly onDown: (error: unknown) => void;
  readonly onSessions: (sessions: readonly Session[]) => void;
  /** Neighbors ended their sessions with these. */
  readonly onNotifications: (notifications: readonly PeerNotification[]) => void;
  /** Called after each configuration of neighbors with those that could not be set; empty: all are set. */
  readonly onNeighborFaults: (faults: readonly SpeakerFault[]) => void;
}

export class SpeakerLink {
  readonly #options: SpeakerLinkOptions;
  readonly #wakeSignal: WakeSignal;
  #running: Promise<void> | null = null;
  #isStopping = false;
  #client: SpeakerClient | null = null;
  /** The newest attempt to connect; of one that failed null. */
  #connecting: Promise<SpeakerClient | null> = Promise.resolve(null);
  /** As the last sessions said. */
  #isDeferring = false;
  /** Set by restart(): ends the present connection, as failed if it has a fault. */
  #restartRequest: { readonly fault: Error | null } | null = null;

  constructor(options: SpeakerLinkOptions) {
    this.#options = options;
    this.#wakeSignal = new WakeSignal(options.timers);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Reconnects, for example to apply another configuration: sessions and routes stay. */
  restart(fault: Error | null = null): void {
    this.#restartRequest = { fault };
    this.#wakeSignal.signal();
  }

  /**
   * Ends the sessions of a speaker that is stopped next, after the withdrawals that are on their way. Without this, a
   * speaker can exit before it has sent them: its neighbors then keep the routes for the time of a graceful restart.
   */
  async endSessions(): Promise<void> {
    const client = this.#client;
    if (client === null) return;
    // One that does not answer is stopped all the same.
    const ended = this.#sessionsEnded(client).catch(() => {});
    await within(ended, SESSIONS_END_MS, this.#options.timers, () => {});
  }

  async #sessionsEnded(client: SpeakerClient): Promise<void> {
    const peers = await client.listPeers();
    await Promise.all(peers.map(({ address }) => client.disablePeer(address)));
    while ((await client.listPeers()).some(({ state }) => state === "established")) {
      await new Pause(this.#options.timers).wait(SESSIONS_POLL_MS);
    }
  }

  /** Asks the speaker, by the next connection where the present one is replaced meanwhile; null: it does not answer. */
  async ask<T>(question: (client: SpeakerClient) => Promise<T>): Promise<T | null> {
    const present = await this.#connecting;
    const answer = present === null ? null : await question(present).catch(() => null);
    if (answer !== null) return answer;
    const next = await this.#connecting;
    return next === null || next === present ? null : question(next).catch(() => null);
  }

  /** Closes the connection; the speaker keeps running. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#client?.close();
    this.#wakeSignal.signal();
    await this.#running;
  }

  async #run(): Promise<void> {
    const backoff = new Backoff(this.#options.times);
    while (!this.#isStopping) {
      this.#restartRequest = null;
      const outcome = await this.#serveOnce();
      if (this.#isStopping) return;
      // A speaker that dies again soon after each start is not started in a tight loop.
      if (outcome.upForMs >= SPEAKER_STABLE_MS) backoff.reset();
      if (outcome.fault === null) continue;
      this.#options.onDown(outcome.fault);
      await this.#wakeSignal.wait(backoff.next());
    }
  }

  /** Runs one connection from start to end. `fault` null: it ended as requested. */
  async #serveOnce(): Promise<{ upForMs: number; fault: unknown }> {
    const { speaker, reconciler, onUp, clock } = this.#options;
    let upSinceMs: number | null = null;
    const upForMs = () => (upSinceMs === null ? 0 : clock.monotonicMs() - upSinceMs);
    try {
      const connecting = speaker.connect();
      this.#connecting = connecting.catch(() => null);
      this.#client = await connecting;
      // Before the first pass, and after the speaker knows them: no neighbor is sent what it is not to get.
      reconciler.setPolicies(speaker.policies);
      await reconciler.attach(this.#client);
      await this.#configure(this.#client);
      await this.#refreshSessions(this.#client);
      upSinceMs = clock.monotonicMs();
      reconciler.up();
      onUp(this.#client.apiVersion);
      await this.#follow(this.#client);
      return { upForMs: upForMs(), fault: null };
    } catch (fault) {
      return { upForMs: upForMs(), fault };
    } finally {
      reconciler.detach();
      this.#client?.close();
      this.#client = null;
    }
  }

  /** Returns when the connection must end, throws when it fails. */
  async #follow(client: SpeakerClient): Promise<void> {
    const { clock, times } = this.#options;
    client
      .watchPeers(() => this.#wakeSignal.signal())
      .then(
        () =>
          this.#watchEnded(client, new SpeakerFault("WatchEvent", "the speaker closed the connection", "unreachable")),
        (fault: unknown) => this.#watchEnded(client, asError(fault)),
      );
    let checkedMs = clock.monotonicMs();
    for (;;) {
      await this.#wakeSignal.wait(this.#isDeferring ? DEFERRING_POLL_MS : times.pollMs);
      if (this.#isStopping) return;
      if (this.#restartRequest !== null) {
        if (this.#restartRequest.fault === null) return;
        throw this.#restartRequest.fault;
      }
      await this.#refreshSessions(client);
      if (clock.monotonicMs() - checkedMs < times.checkMs) continue;
      checkedMs = clock.monotonicMs();
      await this.#check(client);
    }
  }

  #watchEnded(client: SpeakerClient, fault: Error): void {
    // The stream of a dropped client ends as a consequence.
    if (this.#client === client) this.restart(fault);
  }

  /** Corrects changes by other programs. */
  async #check(client: SpeakerClient): Promise<void> {
    await this.#options.reconciler.check();
    await this.#configure(client);
  }

  async #configure(client: SpeakerClient): Promise<void> {
    const { speaker, onNeighborFaults } = this.#options;
    onNeighborFaults(await speaker.configure(client));
  }

  async #refreshSessions(client: SpeakerClient): Promise<void> {
    const { speaker, reconciler, learned, onSessions, onNotifications } = this.#options;
    const sessions = (await client.listPeers()).map(toSession);
    sessions.sort((a, b) => (a.address < b.address ? -1 : 1));
    const followed = {
      sessions,
      installed: (neighbor: string) => reconciler.installedFor(neighbor),
      limits: reconciler.limits(),
      others: learned.takeOthers(),
    };
    const { notifications, blameless, unsent, deferring, limits, known } = await speaker.follow(client, followed);
    for (const neighbor of blameless) reconciler.ends(neighbor);
    reconciler.setLimits(limits);
    learned.found(known);
    reconciler.setDeferring(deferring);
    reconciler.resend(unsent);
    this.#isDeferring = deferring.length > 0;
    if (notifications.length > 0) onNotifications(notifications);
    reconciler.setSessions(sessions);
    onSessions(sessions);
    await reconciler.settle();
    // A neighbor over its limit was removed until the routes beyond are withheld from it.
    if (notifications.some(isPrefixLimit)) await this.#configure(client);
  }
}
