/**
 * Reconciles the speaker's routes with the wanted set: announces missing ones, withdraws surplus ones, looks up what
 * neighbors get. Passes run one at a time; a change during a pass starts another one.
 */
import type { Route, RouteMethod, RouteState } from "../mitigation/announcer.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Clock } from "../system/clock.ts";
import type { RouteOwner } from "./instance.ts";
import { LookupTime } from "./lookup-time.ts";
import type { NeighborPolicies } from "./neighbor-policies.ts";
import type { RouteFamily } from "./route-family.ts";
import { RouteLedger, type SpeakerState } from "./route-ledger.ts";
import { instanceOf, keyOfPath, type OwnPath, type SendableRoute, toPaths, toWithdrawal } from "./route-path.ts";
import { KEPT_BACK_MS, type KeptBack, type QuarantineEvent, RouteQuarantine } from "./route-quarantine.ts";
import type { Session } from "./speaker/neighbor.ts";
import type { ListedName, PathChange, SpeakerClient } from "./speaker/speaker-client.ts";
import { asError, ignoreRefusal } from "./speaker/speaker-fault.ts";
import { listOut, listOwnPaths } from "./speaker-tables.ts";
import type { RouteLimit } from "./withheld-routes.ts";

export interface RouteReconcilerOptions {
  readonly clock: Clock;
  readonly owner: RouteOwner;
  /** The speaker has routes of these other services. Called at each comparison. */
  readonly onOthers: (instances: readonly number[]) => void;
  /** A route was announced for the first time, this long after it was wanted. */
  readonly onAnnounced: (latencyMs: number) => void;
  /** A pass started by want() failed: the client must be replaced. */
  readonly onFault: (fault: Error) => void;
  /** A neighbor resets its session over rules that were sent to it. */
  readonly onQuarantine: (event: QuarantineEvent) => void;
  /** Route states may have changed. Never called from within want(). */
  readonly onChange: () => void;
}

/** From this number of routes in one pass on, the speaker gets time to send them before they are looked up. */
const SENT_FIRST_MIN = 500;

export class RouteReconciler {
  readonly #options: RouteReconcilerOptions;
  readonly #quarantine = new RouteQuarantine();
  readonly #ledger = new RouteLedger((key) => this.#quarantine.isKeptBack(key));
  #speaker: SpeakerState = { kind: "starting" };
  /** null: not connected to a speaker. */
  #client: SpeakerClient | null = null;
  #pass: Promise<void> | null = null;
  #passAgain = false;
  /** The list is read within a pass, so that no change of ours happens between reading and use. */
  #isListDue = false;
  #areLimitsKnown = false;
  /** Neighbors to which the speaker must send all routes again, by resend(). */
  readonly #unsent = new Set<string>();
  /**
   * Neighbors to which the speaker sends no changes by itself: what was sent to them cannot be withdrawn yet. null: not
   * known.
   */
  #deferring: readonly string[] | null = null;
  /** Routes of an earlier instance of this service that are still in the speaker. */
  #former: readonly OwnPath[] = [];
  readonly #lookups = new LookupTime();
  /** null: finish() waits for nothing. */
  #finished: PromiseWithResolvers<void> | null = null;

  constructor(options: RouteReconcilerOptions) {
    this.#options = options;
  }

  want(routes: readonly Route[]): void {
    this.#ledger.want(routes, this.#options.clock.monotonicMs());
    queueMicrotask(() => {
      // Before states of thousands of routes are read: the first ones are on their way then.
      this.settle().catch((error: unknown) => {
        // A detached client fails as a consequence.
        if (this.#client !== null) this.#options.onFault(asError(error));
      });
      this.#options.onChange();
    });
  }

  state(route: Route): RouteState {
    return this.#ledger.state(this.#ledger.keyOf(route), this.#speaker);
  }

  /** Whether the route is in the neighbor's Adj-RIB-Out. */
  isOutAt(neighbor: string, route: Route): boolean {
    return this.#ledger.isOutAt(neighbor, this.#ledger.keyOf(route));
  }

  takes(method: RouteMethod, family: Prefix["family"]): boolean {
    return this.#ledger.takes(method, family);
  }

  advertised(neighbor: string): number {
    return this.#ledger.advertised(neighbor);
  }

  /** Number of our routes in the speaker that the neighbor gets if it takes them all. */
  installedFor(neighbor: string): ReadonlyMap<RouteFamily, number> {
    return this.#ledger.installedFor(neighbor);
  }

  /** In force from the next pass on. The speaker must know the marks of their neighbors before that. */
  setPolicies(policies: NeighborPolicies): void {
    this.#ledger.setPolicies(policies);
  }

  /** The limits in force. Until setLimits() is called, those that routes of an earlier process were marked with. */
  limits(): readonly RouteLimit[] {
    return this.#ledger.limits();
  }

  /** In force from the next pass on. */
  setLimits(limits: readonly RouteLimit[]): void {
    this.#areLimitsKnown = true;
    this.#ledger.setLimits(limits);
  }

  /** Why the neighbor does not get the route for its number; null: that is not so. */
  withheldCause(neighbor: string, route: Route): string | null {
    const key = this.#ledger.keyOf(route);
    return this.#ledger.isWithheldFrom(neighbor, key) ? this.#ledger.withheldCause(neighbor, key) : null;
  }

  isBeyondRoom(neighbor: string, route: Route): boolean {
    return this.#ledger.isBeyondRoom(neighbor, this.#ledger.keyOf(route));
  }

  /** The neighbor's session ends for a reason that is no route of ours. */
  ends(neighbor: string): void {
    this.#quarantine.ends(neighbor, this.#options.clock.monotonicMs());
  }

  /** Rules that are kept back. Times are wall times, as those of the next method. */
  quarantined(): readonly KeptBack[] {
    return movedBy(this.#quarantine.keptBack(), this.#wallOffsetMs());
  }

  /** Takes what quarantined() of another process returned; one that is kept back for longer than we do is not. */
  restoreQuarantine(entries: readonly KeptBack[]): void {
    const nowMs = this.#options.clock.monotonicMs();
    const known = movedBy(entries, -this.#wallOffsetMs());
    const lasting = known.filter(({ untilMs }) => untilMs > nowMs && untilMs <= nowMs + KEPT_BACK_MS);
    for (const event of this.#quarantine.restore(lasting)) this.#options.onQuarantine(event);
  }

  #wallOffsetMs(): number {
    const { clock } = this.#options;
    return clock.wallMs() - clock.monotonicMs();
  }

  /** Number of rules kept back because this neighbor resets its session over them. */
  keptBack(neighbor: string): number {
    return this.#quarantine.keptBackCount(neighbor);
  }

  /** Connects to a speaker: reads its routes of ours and reconciles. Throws on failure. */
  async attach(client: SpeakerClient): Promise<void> {
    // The list from the speaker shows what the last client's pass did; its failure was reported.
    await this.#pass?.catch(() => {});
    this.#client = client;
    this.#deferring = null;
    await this.check();
  }

  /** Drops the client. Its effect is unknown until the next attach(); route states do not change. */
  detach(): void {
    this.#client = null;
  }

  /** Call this after attach() and with the sessions known: from now on route states follow the speaker. */
  up(): void {
    this.#speaker = { kind: "up" };
    this.#options.onChange();
  }

  down(cause: string): void {
    this.#ledger.setSessions([]);
    this.#quarantine.speakerLost();
    const isChanged = this.#speaker.kind !== "down" || this.#speaker.cause !== cause;
    this.#speaker = { kind: "down", cause };
    if (isChanged) this.#options.onChange();
  }

  /** Reads the speaker's routes again and reconciles, in case another program changed them. */
  check(): Promise<void> {
    this.#isListDue = true;
    return this.settle();
  }

  setSessions(sessions: readonly Session[]): void {
    const isChanged = this.#ledger.setSessions(sessions);
    const events = this.#quarantine.setSessions(sessions, this.#options.clock.monotonicMs());
    for (const event of events) this.#options.onQuarantine(event);
    if (isChanged) this.#options.onChange();
  }

  setDeferring(neighbors: readonly string[]): void {
    this.#deferring = neighbors;
  }

  /** Sends these neighbors all routes in the next pass: beside one, a route that it withdraws could be sent after that. */
  resend(neighbors: readonly string[]): void {
    for (const neighbor of neighbors) this.#unsent.add(neighbor);
  }

  /** Resolves when the wanted set is in the speaker, or at once without a client. */
  settle(): Promise<void> {
    this.#passAgain = true;
    if (this.#client === null) return this.#pass ?? Promise.resolve();
    this.#pass ??= this.#passUntilSettled();
    return this.#pass;
  }

  /** As settle(), and waits for changes that are held back until neighbors get them. */
  async finish(): Promise<void> {
    await this.settle();
    if (this.#client === null || !this.#isHoldingBack()) return;
    this.#finished ??= Promise.withResolvers();
    await this.#finished.promise;
  }

  #isHoldingBack(): boolean {
    if (this.#canWithdraw()) return false;
    const ledger = this.#ledger;
    return this.#former.length > 0 || ledger.surplus().length > 0 || ledger.hasMissing();
  }

  async #passUntilSettled(): Promise<void> {
    try {
      while (this.#passAgain && this.#client !== null) {
        this.#passAgain = false;
        await this.#passOnce(this.#client);
      }
      if (!this.#isHoldingBack()) {
        this.#finished?.resolve();
        this.#finished = null;
      }
    } finally {
      // In the same turn as the last check of #passAgain: a settle() in between would be lost.
      this.#pass = null;
    }
  }

  /** Announces first, since that stops an attack. */
  async #passOnce(client: SpeakerClient): Promise<void> {
    const { owner } = this.#options;
    if (this.#isListDue) {
      this.#isListDue = false;
      this.#setListed(await listOwnPaths(client));
    }
    this.#ledger.apportion();
    await this.#announceMissing(client);
    await this.#resendUnsent(client);
    await this.#lookUpOut(client);
    if (!this.#canWithdraw()) return;
    await this.#withdrawSurplus(client);
    // After those that take their place were sent.
    if (this.#former.length > 0) {
      await client.sendPaths(this.#former.map(({ key, instance }) => toWithdrawal(key, instance)));
      this.#former = [];
    }
    owner.adopted();
  }

  /** A withdrawal that a neighbor does not get is lost: the speaker has no route any more to send or to withdraw. */
  #canWithdraw(): boolean {
    return this.#deferring?.length === 0;
  }

  async #announceMissing(client: SpeakerClient): Promise<void> {
    const ledger = this.#ledger;
    if (ledger.isLimited()) {
      // A neighbor that gets one route too many ends its session.
      if (!this.#canWithdraw()) return;
      await this.#makeRoom(client);
    }
    if (!ledger.hasMissing()) return;
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const sent: SendableRoute[] = [];
    await client.sendPaths(this.#missingPaths(sent));
    ledger.added(sent);
    this.resend(this.#deferring ?? []);
    if (sent.length >= SENT_FIRST_MIN) this.#lookups.putOff(clock.monotonicMs(), startedMs);
  }

  /** @param sent gets each route when it is sent */
  #missingPaths(sent: SendableRoute[]): Iterable<PathChange> {
    const { clock, owner } = this.#options;
    const [ledger, quarantine] = [this.#ledger, this.#quarantine];
    const taken = function* () {
      for (const each of ledger.missing()) {
        if (each.route.kind === "flowspec") quarantine.sent(ledger.keyOf(each.route), clock.monotonicMs());
        sent.push(each);
        yield each;
      }
    };
    return toPaths(taken(), owner.instance);
  }

  async #resendUnsent(client: SpeakerClient): Promise<void> {
    for (const neighbor of this.#unsent) {
      await client.resend(neighbor).catch(ignoreRefusal);
      this.#unsent.delete(neighbor);
    }
  }

  /** Below the limits of neighbors, before they are sent other routes: else these end their sessions. */
  async #makeRoom(client: SpeakerClient): Promise<void> {
    const ledger = this.#ledger;
    await this.#withdrawSurplus(client);
    const excess = ledger.excess();
    if (excess.length === 0) return;
    await client.sendPaths(toPaths(excess, this.#options.owner.instance));
    ledger.added(excess);
  }

  async #withdrawSurplus(client: SpeakerClient): Promise<void> {
    const surplus = this.#ledger.surplus();
    if (surplus.length === 0) return;
    await client.sendPaths(surplus.map((key) => toWithdrawal(key, this.#options.owner.instance)));
    this.#ledger.withdrawn(surplus);
    this.#options.onChange();
  }

  #setListed(paths: readonly OwnPath[]): void {
    const { owner, onOthers } = this.#options;
    const own = paths.filter(({ instance }) => instance === owner.instance);
    const foreign = paths.filter(({ instance }) => instance !== owner.instance);
    this.#former = foreign.filter(({ instance }) => owner.takesOver(instance));
    const others = foreign.filter(({ instance }) => !owner.takesOver(instance));
    this.#ledger.setInstalled(own, others);
    if (!this.#areLimitsKnown) this.#ledger.restoreLimits();
    if (others.length > 0) onOthers([...new Set(others.map(({ instance }) => instance))]);
  }

  async #lookUpOut(client: SpeakerClient): Promise<void> {
    if (!this.#lookups.isDue(this.#options.clock.monotonicMs())) return;
    const keys = this.#ledger.unchecked();
    if (keys.length === 0) return;
    const sessions = this.#ledger.established();
    await Promise.all(
      sessions.map(async (session) => {
        const isOut = (path: ListedName) => this.#isOurRoute(path);
        const found = await listOut({ client, session, keys, isOut }).catch(emptyIfRefused);
        if (!this.#ledger.isLasting(session)) return;
        this.#ledger.setAdjOut({ neighbor: session.address, looked: keys, found });
        // Not after the slowest: states of routes are read at any time, and follow this at once.
        this.#options.onChange();
      }),
    );
    // Changed sessions cause another lookup.
    if (this.#ledger.established() !== sessions) return;
    const now = this.#options.clock.monotonicMs();
    for (const wantedAtMs of this.#ledger.finishLookup(keys)) this.#options.onAnnounced(now - wantedAtMs);
    this.#options.onChange();
  }

  /** If two services have equal routes, the speaker sends one of them, which serves both. */
  #isOurRoute(path: ListedName): boolean {
    const instance = instanceOf(path);
    if (instance === null || instance === this.#options.owner.instance) return instance !== null;
    const key = keyOfPath(path);
    return key !== null && this.#ledger.isAnnouncedByOther(key);
  }
}

function movedBy(entries: readonly KeptBack[], byMs: number): readonly KeptBack[] {
  return entries.map((entry) => ({ ...entry, untilMs: entry.untilMs + byMs }));
}

/** The neighbor was just removed; the next poll reports its session. */
function emptyIfRefused(fault: unknown): ReadonlySet<string> {
  ignoreRefusal(fault);
  return new Set();
}
