/**
 * Keeps one connection to the speaker for as long as the service runs: connects, settles routes and neighbors, follows
 * the sessions, notices when the speaker fails and starts over, with growing pauses.
 */
import { Backoff, type RetryTimes } from "../system/backoff.ts";
import type { Clock } from "../system/clock.ts";
import type { Timers } from "../system/timers.ts";
import { Doorbell } from "./doorbell.ts";
import { type Session, toSession } from "./neighbor.ts";
import type { RouteReconciler } from "./route-reconciler.ts";
import type { Speaker } from "./speaker.ts";
import type { ApiVersion, SpeakerClient } from "./speaker-client.ts";
import { asError, SpeakerFault } from "./speaker-fault.ts";

export interface LinkTimes extends RetryTimes {
  /** Between looks at the sessions, which are also how a frozen speaker is noticed. Changes are seen at once besides. */
  readonly pollMs: number;
  /** Between full comparisons of the speaker's routes with the wanted ones. */
  readonly checkMs: number;
}

export interface SpeakerLinkOptions {
  readonly speaker: Speaker;
  readonly reconciler: RouteReconciler;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly times: LinkTimes;
  /** Routes and neighbors are settled, the sessions are followed. */
  readonly onUp: (version: ApiVersion) => void;
  /** The speaker failed. Called after each failed try. */
  readonly onDown: (error: unknown) => void;
  readonly onSessions: (sessions: readonly Session[]) => void;
  /** Neighbors that could not be set, after each look at them; empty: all are. */
  readonly onNeighborFaults: (faults: readonly SpeakerFault[]) => void;
}

export class SpeakerLink {
  readonly #options: SpeakerLinkOptions;
  readonly #doorbell: Doorbell;
  #running: Promise<void> | null = null;
  #isStopping = false;
  #client: SpeakerClient | null = null;
  /** Set by restart(): ends the present connection, as failed where there is a fault. */
  #startOver: { readonly fault: Error | null } | null = null;

  constructor(options: SpeakerLinkOptions) {
    this.#options = options;
    this.#doorbell = new Doorbell(options.timers);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Connects anew, for example to apply another configuration: sessions and routes stay as they are. */
  restart(fault: Error | null = null): void {
    this.#startOver = { fault };
    this.#doorbell.ring();
  }

  /** Closes the connection; the speaker itself goes on. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#client?.close();
    this.#doorbell.ring();
    await this.#running;
  }

  async #run(): Promise<void> {
    const backoff = new Backoff(this.#options.times);
    while (!this.#isStopping) {
      this.#startOver = null;
      const outcome = await this.#serveOnce();
      if (this.#isStopping) return;
      if (outcome.wasUp) backoff.reset();
      if (outcome.fault === null) continue;
      this.#options.onDown(outcome.fault);
      await this.#doorbell.wait(backoff.next());
    }
  }

  /** One connection, from its making to its end. `fault` null: it ended because it was to. */
  async #serveOnce(): Promise<{ wasUp: boolean; fault: unknown }> {
    const { speaker, reconciler, onUp } = this.#options;
    let wasUp = false;
    try {
      this.#client = await speaker.connect();
      await reconciler.attach(this.#client);
      await this.#configure(this.#client);
      await this.#refreshSessions(this.#client);
      wasUp = true;
      reconciler.up();
      onUp(this.#client.apiVersion);
      await this.#follow(this.#client);
      return { wasUp, fault: null };
    } catch (fault) {
      return { wasUp, fault };
    } finally {
      reconciler.detach();
      this.#client?.close();
      this.#client = null;
    }
  }

  /** Returns when the connection is to end, throws when it fails. */
  async #follow(client: SpeakerClient): Promise<void> {
    const { clock, times } = this.#options;
    client
      .watchPeers(() => this.#doorbell.ring())
      .then(
        () => this.#watchEnded(client, new SpeakerFault("WatchEvent", "the speaker went away", "unreachable")),
        (fault: unknown) => this.#watchEnded(client, asError(fault)),
      );
    let checkedMs = clock.monotonicMs();
    for (;;) {
      await this.#doorbell.wait(times.pollMs);
      if (this.#isStopping) return;
      if (this.#startOver !== null) {
        if (this.#startOver.fault === null) return;
        throw this.#startOver.fault;
      }
      await this.#refreshSessions(client);
      if (clock.monotonicMs() - checkedMs < times.checkMs) continue;
      checkedMs = clock.monotonicMs();
      await this.#check(client);
    }
  }

  #watchEnded(client: SpeakerClient, fault: Error): void {
    // The stream of a client that was given up ends of itself.
    if (this.#client === client) this.restart(fault);
  }

  /** Sets right what somebody else changed. */
  async #check(client: SpeakerClient): Promise<void> {
    await this.#options.reconciler.check();
    await this.#configure(client);
  }

  async #configure(client: SpeakerClient): Promise<void> {
    const { speaker, onNeighborFaults } = this.#options;
    onNeighborFaults(await speaker.configure(client));
  }

  async #refreshSessions(client: SpeakerClient): Promise<void> {
    const { reconciler, onSessions } = this.#options;
    const sessions = (await client.listPeers()).map(toSession);
    sessions.sort((a, b) => (a.address < b.address ? -1 : 1));
    reconciler.sessionsAre(sessions);
    onSessions(sessions);
    await reconciler.settle();
  }
}
