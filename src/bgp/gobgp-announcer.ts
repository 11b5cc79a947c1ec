/**
 * The announcer port on GoBGP: owns the link to the speaker, managed or external, and answers for the state of routes
 * and sessions. Nothing here waits for the speaker but stop().
 */
import type { BgpConfig, BgpNeighbor } from "../config/config.ts";
import { STOP_STEP_MS } from "../limits.ts";
import type { Announcer, Route, RouteState } from "../mitigation/announcer.ts";
import type { Clock } from "../system/clock.ts";
import { within } from "../system/deadline.ts";
import type { Environment } from "../system/environment.ts";
import type { Timers } from "../system/timers.ts";
import { ManagedSpeaker, type SpeakerLog } from "./managed-speaker.ts";
import type { Session } from "./neighbor.ts";
import { MEMORY_MS, type QuarantineNews } from "./route-quarantine.ts";
import { RouteReconciler } from "./route-reconciler.ts";
import { ExternalSpeaker, type Speaker } from "./speaker.ts";
import type { ApiVersion, SessionState } from "./speaker-client.ts";
import { faultReason, SpeakerFault } from "./speaker-fault.ts";
import { type LinkTimes, SpeakerLink } from "./speaker-link.ts";

export interface BgpMetrics {
  /** The speaker failed us; the operation is of a closed set: gobgpd, quarantine, quarantine_full and the names of GoBGP's calls. */
  fault(operation: string): void;
  /** From want() until the route is in a neighbor's out-table. */
  announced(latencyMs: number): void;
}

export interface GobgpAnnouncerOptions {
  readonly config: BgpConfig;
  readonly stateDir: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly environment: Environment;
  readonly log: SpeakerLog;
  readonly metrics: BgpMetrics;
  /** Of gobgpd, managed only; null: not installed. */
  readonly executable: () => string | null;
  readonly times: LinkTimes & { readonly deadlineMs: number };
  /** Default: the one of the configuration, managed or external. */
  readonly speaker?: Speaker;
}

export const DEFAULT_TIMES: GobgpAnnouncerOptions["times"] = {
  pollMs: 1_000,
  checkMs: 10_000,
  retryMinMs: 50,
  retryMaxMs: 5_000,
  deadlineMs: 2_000,
};

export interface NeighborStatus {
  readonly address: string;
  readonly remoteAsn: number;
  readonly state: SessionState;
  /** Wall time at which the session was last established or lost; without either, at which we first saw it. */
  readonly sinceMs: number;
  /** Our routes in its out-table. */
  readonly advertised: number;
  /** FlowSpec rules that no neighbor gets for now, since this one resets its session over them. */
  readonly keptBack: number;
}

export interface BgpStatus {
  readonly speaker: BgpConfig["speaker"];
  /** Whether the speaker answers. */
  readonly connected: boolean;
  /** Major version of GoBGP whose API it offers; null while it does not answer. */
  readonly gobgpVersion: ApiVersion | null;
  /** Why it does not, or which neighbors could not be set. */
  readonly fault: string | null;
  readonly neighbors: readonly NeighborStatus[];
}

/** Of one line in the log. */
const ROUTES_LOGGED = 20;

export class GobgpAnnouncer implements Announcer {
  readonly #options: GobgpAnnouncerOptions;
  readonly #speaker: Speaker;
  readonly #reconciler: RouteReconciler;
  readonly #link: SpeakerLink;
  readonly #listeners: (() => void)[] = [];
  #config: BgpConfig;
  /** null: not connected. */
  #gobgpVersion: ApiVersion | null = null;
  #fault: string | null = null;
  #neighborFault: string | null = null;
  #startedAtMs = 0;
  #sessions: readonly Session[] = [];
  /** Wall time by neighbor, for sessions of which the speaker knows no time. */
  readonly #seenAtMs = new Map<string, number>();

  constructor(options: GobgpAnnouncerOptions) {
    const { clock, timers, times, metrics } = options;
    this.#options = options;
    this.#config = options.config;
    this.#speaker = options.speaker ?? configuredSpeaker(options);
    this.#reconciler = new RouteReconciler({
      clock,
      onAnnounced: (latencyMs) => metrics.announced(latencyMs),
      onFault: (error) => this.#link.restart(error),
      onQuarantine: (news) => this.#quarantined(news),
      onChange: () => this.#notify(),
    });
    this.#link = new SpeakerLink({
      speaker: this.#speaker,
      reconciler: this.#reconciler,
      clock,
      timers,
      times,
      onUp: (version) => this.#up(version),
      onDown: (error) => this.#down(error),
      onSessions: (sessions) => this.#sessionsAre(sessions),
      onNeighborFaults: (faults) => this.#neighborFaultsAre(faults),
    });
  }

  /** Returns at once; the speaker is looked for from now on, again and again. */
  start(): void {
    this.#startedAtMs = this.#options.clock.wallMs();
    this.#link.start();
  }

  want(routes: readonly Route[]): void {
    this.#reconciler.want(routes);
  }

  routeState(route: Route): RouteState {
    return this.#reconciler.state(route);
  }

  /** Also called when a session or the link to the speaker changes. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  status(): BgpStatus {
    return {
      speaker: this.#config.speaker,
      connected: this.#gobgpVersion !== null,
      gobgpVersion: this.#gobgpVersion,
      fault: this.#fault ?? this.#neighborFault,
      neighbors: this.#knownSessions().map((session) => ({
        address: session.address,
        remoteAsn: session.remoteAsn,
        state: this.#gobgpVersion !== null ? session.state : "unknown",
        sinceMs: session.changedAtMs ?? this.#seenAtMs.get(session.address) ?? this.#startedAtMs,
        advertised: this.#reconciler.advertised(session.address),
        keptBack: this.#reconciler.keptBack(session.address),
      })),
    };
  }

  /** Applies changed neighbors, without touching the others. Which speaker it is cannot change but by a restart. */
  reload(config: BgpConfig): void {
    if (config.speaker !== this.#config.speaker || config.grpc !== this.#config.grpc) {
      throw new Error("bug: a reload changes the BGP speaker");
    }
    this.#config = config;
    this.#speaker.reload(config);
    this.#link.restart();
  }

  /**
   * `withdraw` false: the routes stay in the speaker, which goes on without us also when it is a managed one. true: the
   * routes are taken out, and a managed speaker is ended. Either way what was wanted last is done first, if it can be.
   */
  async stop({ withdraw }: { withdraw: boolean }): Promise<void> {
    if (withdraw) this.#reconciler.want([]);
    await this.#settleInTime();
    await this.#link.stop();
    if (withdraw) await this.#speaker.end();
  }

  /** With those of a managed speaker's neighbors that it does not have yet. */
  #knownSessions(): readonly Session[] {
    if (this.#speaker.kind === "external") return this.#sessions;
    const known = new Set(this.#sessions.map((session) => session.address));
    const absent = this.#config.neighbors.filter((neighbor) => !known.has(neighbor.address));
    return [...this.#sessions, ...absent.map(unknownSession)];
  }

  async #settleInTime(): Promise<void> {
    const settled = this.#reconciler.settle().catch(() => {});
    await within(settled, STOP_STEP_MS, this.#options.timers, () => {});
  }

  #up(version: ApiVersion): void {
    const fields = { speaker: this.#speaker.kind, gobgp: version };
    if (this.#fault !== null) this.#options.log.info(fields, "bgp speaker answers again");
    else if (this.#gobgpVersion === null) this.#options.log.info(fields, "bgp speaker answers");
    this.#gobgpVersion = version;
    this.#fault = null;
    this.#notify();
  }

  /** A fault is logged when it begins or becomes another one, and counted each time. */
  #down(error: unknown): void {
    const { log, metrics } = this.#options;
    const reason = faultReason(error);
    metrics.fault(error instanceof SpeakerFault ? error.operation : "link");
    if (reason !== this.#fault) log.warn({ speaker: this.#speaker.kind, cause: reason }, "bgp speaker failed");
    this.#gobgpVersion = null;
    this.#fault = reason;
    this.#reconciler.down(`bgp speaker: ${reason}`);
    this.#notify();
  }

  #quarantined(news: QuarantineNews): void {
    const { log, metrics } = this.#options;
    const routes = { routes: news.routes.slice(0, ROUTES_LOGGED), count: news.routes.length };
    switch (news.kind) {
      case "suspected":
        log.warn({ neighbor: news.neighbor, ...routes }, "bgp session broke right after rules were announced");
        return;
      case "kept_back":
        metrics.fault("quarantine");
        log.warn(
          { neighbor: news.neighbor, seconds: MEMORY_MS / 1000, ...routes },
          "bgp session broke again over the same rules, keeping them back",
        );
        return;
      case "let_go":
        metrics.fault("quarantine_full");
        log.warn(routes, "too many rules to keep back, the oldest are announced again where they are wanted");
        return;
      default:
        news satisfies never;
    }
  }

  /** Logged and counted when they change. */
  #neighborFaultsAre(faults: readonly SpeakerFault[]): void {
    const text = faults.length === 0 ? null : faults.map((fault) => fault.reason).join("; ");
    if (text === this.#neighborFault) return;
    this.#neighborFault = text;
    for (const fault of faults) this.#options.metrics.fault(fault.operation);
    if (text !== null) this.#options.log.warn({ cause: text }, "bgp neighbors could not be set");
    this.#notify();
  }

  #sessionsAre(sessions: readonly Session[]): void {
    const before = new Map(this.#sessions.map((session) => [session.address, session.state]));
    this.#sessions = sessions;
    for (const address of this.#seenAtMs.keys()) {
      if (!sessions.some((session) => session.address === address)) this.#seenAtMs.delete(address);
    }
    let isChanged = before.size !== sessions.length;
    for (const { address, state, remoteAsn } of sessions) {
      if (!this.#seenAtMs.has(address)) this.#seenAtMs.set(address, this.#options.clock.wallMs());
      const was = before.get(address);
      if (was === state) continue;
      isChanged = true;
      const isNews = state === "established" || was === "established";
      if (isNews) this.#options.log.info({ neighbor: address, remote_asn: remoteAsn, state }, "bgp session changed");
    }
    if (isChanged) this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

function configuredSpeaker(options: GobgpAnnouncerOptions): Speaker {
  const { grpc } = options.config;
  const { deadlineMs } = options.times;
  return grpc === null ? new ManagedSpeaker({ ...options, deadlineMs }) : new ExternalSpeaker({ grpc, deadlineMs });
}

function unknownSession({ address, remoteAsn }: BgpNeighbor): Session {
  return { address, remoteAsn, state: "unknown", changedAtMs: null, families: [] };
}
