/**
 * The Announcer for GoBGP: owns the link to the speaker, managed or external, and reports the states of routes and
 * sessions. Only stop() waits for the speaker.
 */
import { STOP_STEP_MS } from "../limits.ts";
import type { Announcer, MissingNeighbor, Route, RouteMethod, RouteState } from "../mitigation/announcer.ts";
import type { RulesAtNeighbors, RulesForReaders } from "../mitigation/circumstances.ts";
import type { NeighborRules } from "../mitigation/measure.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Clock } from "../system/clock.ts";
import { within } from "../system/deadline.ts";
import type { Environment } from "../system/environment.ts";
import { afterPromises, type Timers } from "../system/timers.ts";
import type { BgpConfig, BgpNeighbor } from "./bgp-config.ts";
import type { BgpStatus } from "./bgp-status.ts";
import { foreignRoutes } from "./foreign-routes.ts";
import { Instance } from "./instance.ts";
import { LearnedLimits } from "./learned-limits.ts";
import { NeighborPolicies } from "./neighbor-policies.ts";
import { NeighborRuleFinder } from "./neighbor-rules.ts";
import { QuarantineKeeper } from "./quarantine-keeper.ts";
import { familyOfRoute, familyText } from "./route-family.ts";
import { RouteReconciler } from "./route-reconciler.ts";
import { ManagedSpeaker, type ManagedSpeakerOptions, type SpeakerLog } from "./speaker/managed-speaker.ts";
import type { Session } from "./speaker/neighbor.ts";
import { isPrefixLimit, notificationText, type PeerNotification } from "./speaker/peer-notification.ts";
import { ExternalSpeaker, type Speaker } from "./speaker/speaker.ts";
import type { ApiVersion } from "./speaker/speaker-client.ts";
import { faultReason, SpeakerFault } from "./speaker/speaker-fault.ts";
import { type LinkTimes, SpeakerLink } from "./speaker/speaker-link.ts";

interface BgpMetrics {
  /**
   * Counts a fault. The operation is from a closed set: gobgpd, quarantine, quarantine_full, prefix_limit and the names
   * of GoBGP's calls.
   */
  fault(operation: string): void;
  /** Time from want() until the route is in a neighbor's Adj-RIB-Out. */
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
  /** Path of gobgpd, for a managed speaker; null: not installed. */
  readonly executable: () => string | null;
  /** When the last wanted route expires, wall clock; null: there is none. */
  readonly routesUntilMs: () => number | null;
  readonly times: LinkTimes & Pick<ManagedSpeakerOptions, "deadlineMs" | "leaseMs" | "guardLookMs">;
  /** Default: the configured one, managed or external. */
  readonly speaker?: Speaker;
}

export const DEFAULT_TIMES: GobgpAnnouncerOptions["times"] = {
  pollMs: 1_000,
  checkMs: 10_000,
  retryMinMs: 50,
  retryMaxMs: 5_000,
  deadlineMs: 2_000,
  leaseMs: 30_000,
};

const NOT_IN_OUT_TABLE =
  "not in its out-table: the speaker's export policy or another route of the prefix keeps it back";

/** Maximum number of other services that are named in the log. */
const OTHERS_LOGGED = 64;

export class GobgpAnnouncer implements Announcer {
  readonly #options: GobgpAnnouncerOptions;
  readonly #speaker: Speaker;
  readonly #owner: Instance;
  readonly #reconciler: RouteReconciler;
  readonly #link: SpeakerLink;
  /** Rules that neighbors refuse. */
  readonly quarantine: QuarantineKeeper;
  /** How many routes neighbors take. */
  readonly learned: LearnedLimits;
  readonly #listeners: (() => void)[] = [];
  #isNoticeDue = false;
  #config: BgpConfig;
  #policies: NeighborPolicies;
  readonly #rules: NeighborRuleFinder;
  /** null: not connected. */
  #gobgpVersion: ApiVersion | null = null;
  #fault: string | null = null;
  #neighborFault: string | null = null;
  #startedAtMs = 0;
  #sessions: readonly Session[] = [];
  /** Whether the speaker has said its sessions once. */
  #isListed = false;
  /** By neighbor: wall time when first seen, for sessions without a time of the speaker. */
  readonly #seenAtMs = new Map<string, number>();
  /** Other services with routes in the speaker that the log has named. */
  readonly #loggedOthers = new Set<number>();

  constructor(options: GobgpAnnouncerOptions) {
    const { clock, timers, times, metrics } = options;
    this.#options = options;
    this.#config = options.config;
    this.#policies = new NeighborPolicies(options.config);
    this.#rules = new NeighborRuleFinder(options.config);
    this.#speaker = options.speaker ?? configuredSpeaker(options);
    this.quarantine = new QuarantineKeeper({
      ...{ stateDir: options.stateDir, log: options.log, fault: (operation) => metrics.fault(operation) },
      quarantined: () => this.#reconciler.quarantined(),
      restore: (entries) => this.#reconciler.restoreQuarantine(entries),
    });
    this.learned = new LearnedLimits((address) => this.#config.neighbors.some((one) => one.address === address));
    this.#owner = new Instance({
      stateDir: options.stateDir,
      configured: options.config.instance,
      isSpeakerOwn: options.config.speaker === "managed",
      warn: (fields, message) => options.log.warn(fields, message),
    });
    this.#reconciler = new RouteReconciler({
      clock,
      owner: this.#owner,
      onOthers: (instances) => this.#onOthers(instances),
      onAnnounced: (latencyMs) => metrics.announced(latencyMs),
      onFault: (error) => this.#link.restart(error),
      onQuarantine: (event) => this.quarantine.happened(event),
      onChange: () => this.#notify(),
    });
    this.#link = new SpeakerLink({
      speaker: this.#speaker,
      reconciler: this.#reconciler,
      learned: this.learned,
      clock,
      timers,
      times,
      onUp: (version) => this.#up(version),
      onDown: (error) => this.#down(error),
      onSessions: (sessions) => this.#onSessions(sessions),
      onNotifications: (notifications) => this.#onNotifications(notifications),
      onNeighborFaults: (faults) => this.#onNeighborFaults(faults),
    });
  }

  /** Returns at once; connecting is retried in the background. */
  start(): void {
    this.#startedAtMs = this.#options.clock.wallMs();
    this.quarantine.load();
    this.#link.start();
  }

  want(routes: readonly Route[]): void {
    this.#reconciler.want(routes);
    this.#speaker.routesChanged();
  }

  routeState(route: Route): RouteState {
    return this.#reconciler.state(route);
  }

  missingAt(route: Route): readonly MissingNeighbor[] {
    return this.#allSessions().flatMap((session) => {
      if (this.#policies.refusalAt(session.address, route) !== null) return [];
      const cause = this.#missingCause(session, route);
      if (cause === null) return [];
      const isBeyondRoom = this.#reconciler.isBeyondRoom(session.address, route);
      return { neighbor: session.address, cause, ...(isBeyondRoom && { isBeyondRoom }) };
    });
  }

  keptFrom(route: Route): readonly MissingNeighbor[] {
    return this.#policies.keptFrom(route);
  }

  sentTo(route: Route): readonly string[] {
    return this.#allSessions()
      .filter((session) => this.#missingCause(session, route) === null)
      .map(({ address }) => address);
  }

  isExternal(neighbor: string): boolean {
    const { localAsn, neighbors } = this.#config;
    const session = this.#sessions.find(({ address }) => address === neighbor);
    const configured = neighbors.find(({ address }) => address === neighbor);
    return (session?.remoteAsn ?? configured?.remoteAsn) !== (configured?.localAsn ?? localAsn);
  }

  takes(method: RouteMethod, family: Prefix["family"]): boolean {
    return this.#reconciler.takes(method, family);
  }

  /** See Circumstances.neighborRules. */
  neighborRules(request: RulesForReaders<NeighborRules>): RulesAtNeighbors {
    return this.#rules.rulesFor(request);
  }

  /** Time passed: other rules may be found for neighbors with limits. */
  tick(): void {
    this.#rules.tick();
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
      neighbors: this.#allSessions().map((session) => ({
        address: session.address,
        remoteAsn: session.remoteAsn,
        state: this.#gobgpVersion !== null ? session.state : "unknown",
        sinceMs: session.changedAtMs ?? this.#seenAtMs.get(session.address) ?? this.#startedAtMs,
        families: session.families,
        advertised: this.#reconciler.advertised(session.address),
        keptBack: this.#reconciler.keptBack(session.address),
        fault: session.state === "established" ? null : this.#speaker.neighborFault(session.address),
      })),
    };
  }

  /** Not those of an external speaker that has not answered yet. */
  get knowsNeighbors(): boolean {
    return this.#speaker.kind !== "external" || this.#isListed;
  }

  /** null: the speaker does not answer. */
  foreignRoutes = () => this.#link.ask((client) => foreignRoutes(client, this.#owner.instance));

  /** Applies changed neighbors without touching the others. Another speaker needs a restart. */
  reload(config: BgpConfig): void {
    if (config.speaker !== this.#config.speaker || config.grpc !== this.#config.grpc) {
      throw new Error("bug: a reload changes the BGP speaker");
    }
    this.#config = config;
    this.#policies = new NeighborPolicies(config);
    this.#rules.reload(config);
    this.#speaker.reload(config);
    this.#link.restart();
  }

  /**
   * Waits a bounded time for the last wanted routes, then stops. `withdraw` false: the speaker, also a managed one,
   * keeps running with the routes. true: the routes are withdrawn, and a managed speaker is stopped.
   */
  async stop({ withdraw }: { withdraw: boolean }): Promise<void> {
    if (withdraw) this.#reconciler.want([]);
    await this.#settleWithDeadline();
    if (withdraw && this.#speaker.kind === "managed") await this.#link.endSessions();
    await this.#link.stop();
    this.#speaker.routesChanged();
    if (withdraw) await this.#speaker.end();
  }

  /** Includes neighbors that a managed speaker does not have yet. */
  #allSessions(): readonly Session[] {
    if (this.#speaker.kind === "external") return this.#sessions;
    const known = new Set(this.#sessions.map((session) => session.address));
    const absent = this.#config.neighbors.filter((neighbor) => !known.has(neighbor.address));
    return [...this.#sessions, ...absent.map((neighbor) => this.#absentSession(neighbor))];
  }

  /** null: the neighbor has been sent the route. */
  #missingCause({ address, state, families }: Session, route: Route): string | null {
    if (state !== "established") return this.#speaker.neighborFault(address) ?? "no session";
    const family = familyOfRoute(route);
    if (!families.includes(family)) return `takes no ${familyText(family)} routes`;
    if (this.#reconciler.isOutAt(address, route)) return null;
    return this.#reconciler.withheldCause(address, route) ?? NOT_IN_OUT_TABLE;
  }

  /** Not in the speaker: not yet, or not for now. */
  #absentSession({ address, remoteAsn }: BgpNeighbor): Session {
    const state = this.#speaker.neighborFault(address) === null ? "unknown" : "idle";
    return { address, remoteAsn, state, changedAtMs: null, families: [], isDeferring: false };
  }

  async #settleWithDeadline(): Promise<void> {
    const files = [this.quarantine.settled(), this.#owner.settled()];
    const settled = Promise.all([this.#reconciler.finish().catch(() => {}), ...files]).then(() => {});
    await within(settled, STOP_STEP_MS, this.#options.timers, () => {});
  }

  #up(version: ApiVersion): void {
    const fields = { speaker: this.#speaker.kind, gobgp: version, instance: this.#owner.instance };
    if (this.#fault !== null) this.#options.log.info(fields, "bgp speaker answers again");
    else if (this.#gobgpVersion === null) this.#options.log.info(fields, "bgp speaker answers");
    this.#gobgpVersion = version;
    this.#fault = null;
    this.#notify();
  }

  /** A fault is logged when it starts or changes, and counted each time. */
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

  /** Each is named once. */
  #onOthers(instances: readonly number[]): void {
    const unknown = instances.filter((instance) => !this.#loggedOthers.has(instance));
    const named = unknown.slice(0, OTHERS_LOGGED - this.#loggedOthers.size);
    if (named.length === 0) return;
    for (const instance of named) this.#loggedOthers.add(instance);
    const message = "routes of other Floodwall services are in the speaker: they are left alone";
    this.#options.log.info({ instances: named }, message);
  }

  #onNotifications(notifications: readonly PeerNotification[]): void {
    const { log, metrics } = this.#options;
    for (const notification of notifications.filter(isPrefixLimit)) {
      metrics.fault("prefix_limit");
      const fields = { neighbor: notification.neighbor, cause: notificationText(notification) };
      log.warn(fields, "bgp neighbor takes no more routes, it gets the most valuable ones");
    }
    this.#notify();
  }

  /** Faults are logged and counted when they change. */
  #onNeighborFaults(faults: readonly SpeakerFault[]): void {
    const text = faults.length === 0 ? null : faults.map((fault) => fault.reason).join("; ");
    if (text === this.#neighborFault) return;
    this.#neighborFault = text;
    for (const fault of faults) this.#options.metrics.fault(fault.operation);
    if (text !== null) this.#options.log.warn({ cause: text }, "bgp neighbors could not be set");
    this.#notify();
  }

  #onSessions(sessions: readonly Session[]): void {
    const before = new Map(this.#sessions.map((session) => [session.address, session.state]));
    this.#sessions = sessions;
    for (const address of this.#seenAtMs.keys()) {
      if (!sessions.some((session) => session.address === address)) this.#seenAtMs.delete(address);
    }
    let isChanged = !this.#isListed || before.size !== sessions.length;
    this.#isListed = true;
    for (const { address, state, remoteAsn } of sessions) {
      if (!this.#seenAtMs.has(address)) this.#seenAtMs.set(address, this.#options.clock.wallMs());
      const was = before.get(address);
      if (was === state) continue;
      isChanged = true;
      const isLogged = state === "established" || was === "established";
      if (isLogged) this.#options.log.info({ neighbor: address, remote_asn: remoteAsn, state }, "bgp session changed");
    }
    if (isChanged) this.#notify();
  }

  /** Once for all changes of a turn: listeners read the states of all routes that are not announced yet. */
  #notify(): void {
    if (this.#isNoticeDue) return;
    this.#isNoticeDue = true;
    afterPromises(() => {
      this.#isNoticeDue = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

function configuredSpeaker(options: GobgpAnnouncerOptions): Speaker {
  const { grpc } = options.config;
  return grpc === null
    ? new ManagedSpeaker({ ...options, ...options.times })
    : new ExternalSpeaker({ grpc, deadlineMs: options.times.deadlineMs });
}
