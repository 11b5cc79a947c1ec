/**
 * Tracks the wanted routes, the routes in the speaker and the routes sent to each neighbor; derives from these the
 * changes to make and the state of each route. Does no I/O.
 */
import type { Route, RouteMethod, RouteState } from "../mitigation/announcer.ts";
import type { Prefix } from "../net/prefix.ts";
import { type Marks, markOf, NO_MARKS } from "./neighbor-mark.ts";
import { ALL_NEIGHBORS, type NeighborPolicies } from "./neighbor-policies.ts";
import { familyOfRoute, familyText, type RouteFamily } from "./route-family.ts";
import {
  attributesOf,
  familyOfKey,
  keyOf,
  type OwnPath,
  type RouteKey,
  routeProblem,
  type SendableRoute,
} from "./route-path.ts";
import type { Session } from "./speaker/neighbor.ts";
import { limitsOf, marksBeyond, type RouteLimit } from "./withheld-routes.ts";

interface WantedRoute {
  readonly route: Route;
  /** Monotonic. */
  readonly wantedAtMs: number;
  /** null: not needed yet, so that the first of thousands of routes are sent before the last are looked at. */
  terms: RouteTerms | null;
}

interface RouteTerms {
  readonly attributes: string;
  /** Why the route cannot be sent; null: it can. */
  readonly problem: string | null;
  /** Marks of the neighbors that are not to get it by their policies. */
  readonly marks: Marks;
}

type Installed = Pick<OwnPath, "attributes" | "marks">;

/** The state of the speaker, as routes depend on it. */
export type SpeakerState = { readonly kind: "starting" | "up" } | { readonly kind: "down"; readonly cause: string };

const KEPT_BACK = "kept back: a neighbor reset its session each time that it was sent";

export class RouteLedger {
  readonly #wanted = new Map<RouteKey, WantedRoute>();
  /** Our routes in the speaker. */
  readonly #installed = new Map<RouteKey, Installed>();
  #limits: readonly RouteLimit[] = [];
  #policies: NeighborPolicies = ALL_NEIGHBORS;
  /** All marks of the wanted routes that are beyond a limit or room; see apportion(). */
  #beyond: ReadonlyMap<RouteKey, Marks> = new Map();
  /** Routes of other services in the speaker, as `KEY ATTRIBUTES`. */
  readonly #others = new Set<string>();
  #established: readonly Session[] = [];
  /** By established neighbor: keys in its Adj-RIB-Out. */
  readonly #out = new Map<string, Set<RouteKey>>();
  /** Keys that were looked up in the Adj-RIB-Out of all established neighbors. */
  readonly #checked = new Set<RouteKey>();
  /** Keys that were announced at least once since they are wanted. */
  readonly #everOut = new Set<RouteKey>();
  /** Whether a key is kept back because a neighbor reset its session over it. */
  readonly #isKeptBack: (key: RouteKey) => boolean;
  /** Cached: the key of a rule is expensive, and most routes do not change. */
  readonly #keys = new WeakMap<Route, RouteKey>();

  constructor(isKeptBack: (key: RouteKey) => boolean = () => false) {
    this.#isKeptBack = isKeptBack;
  }

  keyOf(route: Route): RouteKey {
    const known = this.#keys.get(route);
    if (known !== undefined) return known;
    const key = keyOf(route);
    this.#keys.set(route, key);
    return key;
  }

  /** The most valuable routes first. If two routes have equal keys, the last one counts. */
  want(routes: readonly Route[], nowMs: number): void {
    const before = new Map(this.#wanted);
    this.#wanted.clear();
    for (const route of routes) {
      const key = this.keyOf(route);
      const known = before.get(key);
      // Most routes are identical objects: comparing the attributes of thousands takes longer than announcing one.
      if (known?.route === route) this.#wanted.set(key, known);
      else this.#wanted.set(key, { route, terms: null, wantedAtMs: this.#wantedAt(route, known) ?? nowMs });
    }
    for (const key of this.#everOut) if (!this.#wanted.has(key)) this.#everOut.delete(key);
  }

  /** null: it was not wanted before, or with other attributes. */
  #wantedAt(route: Route, known: WantedRoute | undefined): number | null {
    const isSame = known !== undefined && this.#termsOf(known).attributes === attributesOf(route);
    return isSame ? known.wantedAtMs : null;
  }

  #termsOf(wanted: WantedRoute): RouteTerms {
    wanted.terms ??= this.#madeTerms(wanted.route);
    return wanted.terms;
  }

  #madeTerms(route: Route): RouteTerms {
    const problem = routeProblem(route) ?? this.#policies.problemOf(route);
    return { attributes: attributesOf(route), problem, marks: this.#policies.marksOf(route) };
  }

  setPolicies(policies: NeighborPolicies): void {
    this.#policies = policies;
    for (const wanted of this.#wanted.values()) wanted.terms = null;
  }

  /** Sets the routes in the speaker, ours and those of other services; the Adj-RIBs-Out must be read again. */
  setInstalled(paths: readonly OwnPath[], others: readonly OwnPath[] = []): void {
    this.#installed.clear();
    this.#others.clear();
    for (const { key, attributes, marks } of paths) this.#installed.set(key, { attributes, marks });
    for (const { key, attributes } of others) this.#others.add(`${key} ${attributes}`);
    this.#checked.clear();
  }

  /** Whether another service announces the same route: the speaker sends only one of two equal ones. */
  isAnnouncedByOther(key: RouteKey): boolean {
    const wanted = this.#wanted.get(key);
    return wanted !== undefined && this.#others.has(`${key} ${this.#termsOf(wanted).attributes}`);
  }

  /** Returns whether the states of routes may have changed. */
  setSessions(sessions: readonly Session[]): boolean {
    const established = sessions.filter((session) => session.state === "established");
    if (sessionsText(established) === sessionsText(this.#established)) return false;
    this.#established = established;
    this.#checked.clear();
    const addresses = new Set(established.map((session) => session.address));
    for (const neighbor of this.#out.keys()) if (!addresses.has(neighbor)) this.#out.delete(neighbor);
    return true;
  }

  established(): readonly Session[] {
    return this.#established;
  }

  /** Whether the neighbor's session is still this one: it did not end, nor end and come back. */
  isLasting({ address, changedAtMs }: Session): boolean {
    return this.#established.some((session) => session.address === address && session.changedAtMs === changedAtMs);
  }

  /** Whether an established neighbor takes routes of this method and family. */
  takes(method: RouteMethod, family: Prefix["family"]): boolean {
    const name: RouteFamily = `ipv${family}-${method === "flowspec" ? "flowspec" : "unicast"}`;
    return this.#established.some(
      ({ address, families }) => families.includes(name) && this.#policies.takes(address, method),
    );
  }

  setLimits(limits: readonly RouteLimit[]): void {
    this.#limits = limits;
  }

  limits(): readonly RouteLimit[] {
    return this.#limits;
  }

  /** Takes over the limits that routes in the speaker are marked with. */
  restoreLimits(): void {
    const installed = [...this.#installed].map(([key, { marks }]) => ({ key, marks }));
    this.#limits = limitsOf(installed, this.#policies.addresses);
  }

  /** Whether a neighbor gets only the most valuable routes. */
  isLimited(): boolean {
    return this.#limits.length + this.#policies.rooms.length > 0;
  }

  /** Decides again who gets which route: what missing(), excess() and marksOf() return depends on it. */
  apportion(): void {
    const all = new Map<RouteKey, Marks>();
    if (this.isLimited()) {
      const sendable = [...this.#wanted].filter(([key, wanted]) => this.#isSendable(key, wanted));
      const byValue = sendable.map(([key, wanted]) => ({ key, marks: this.#termsOf(wanted).marks }));
      const own = new Map(byValue.map(({ key, marks }) => [key, marks]));
      for (const [key, beyond] of marksBeyond({ limits: this.#limits, rooms: this.#policies.rooms }, byValue)) {
        all.set(key, [...(own.get(key) ?? NO_MARKS), ...beyond].sort());
      }
    }
    this.#beyond = all;
  }

  #marksOf(key: RouteKey, wanted: WantedRoute): Marks {
    return this.#beyond.get(key) ?? this.#termsOf(wanted).marks;
  }

  /**
   * Wanted routes that a neighbor has beyond its limit, to be marked before others are announced, beside the marks that
   * they have, which may be others' limits still.
   */
  excess(): readonly SendableRoute[] {
    return [...this.#wanted].flatMap(([key, wanted]) => {
      const installed = this.#installed.get(key);
      if (installed === undefined) return [];
      const marks = this.#marksOf(key, wanted);
      if (marks.every((mark) => installed.marks.includes(mark))) return [];
      const { attributes } = this.#termsOf(wanted);
      return { route: wanted.route, attributes, marks: [...new Set([...installed.marks, ...marks])].sort() };
    });
  }

  isWithheldFrom(neighbor: string, key: RouteKey): boolean {
    const marks = this.#beyond.get(key) ?? NO_MARKS;
    return marks.length > 0 && [markOf(neighbor), markOf(neighbor, "room")].some((mark) => marks.includes(mark));
  }

  /** Why isWithheldFrom() holds. */
  withheldCause(neighbor: string, key: RouteKey): string {
    const room = this.#policies.rooms.find((each) => each.neighbor === neighbor);
    if (room !== undefined && this.isBeyondRoom(neighbor, key)) return `its policy has room for ${room.rules} rules`;
    const family = familyOfKey(key);
    const limit = this.#limits.find((each) => each.neighbor === neighbor && each.family === family);
    return `takes at most ${limit?.routes ?? 0} ${familyText(family)} routes`;
  }

  /** The neighbor has no room for this rule. */
  isBeyondRoom(neighbor: string, key: RouteKey): boolean {
    return this.#beyond.get(key)?.includes(markOf(neighbor, "room")) === true;
  }

  /** Routes to announce, of those that are wanted at the call. Each is looked at when it is taken. */
  missing(): Iterable<SendableRoute> {
    return this.#missingOf([...this.#wanted]);
  }

  *#missingOf(wanted: readonly (readonly [RouteKey, WantedRoute])[]): Iterable<SendableRoute> {
    for (const [key, each] of wanted) {
      if (!this.#isSendable(key, each) || this.#isInstalled(key, each)) continue;
      yield { route: each.route, attributes: this.#termsOf(each).attributes, marks: this.#marksOf(key, each) };
    }
  }

  hasMissing(): boolean {
    for (const _ of this.missing()) return true;
    return false;
  }

  /** Keys to withdraw. If a wanted route cannot be sent, an older one with its key is withdrawn too. */
  surplus(): readonly RouteKey[] {
    return [...this.#installed.keys()].filter((key) => this.#problemOf(key) !== null || this.#isKeptBack(key));
  }

  added(routes: readonly SendableRoute[]): void {
    for (const { route, attributes, marks } of routes) {
      const key = this.keyOf(route);
      this.#installed.set(key, { attributes, marks });
      this.#checked.delete(key);
    }
  }

  withdrawn(keys: readonly RouteKey[]): void {
    for (const key of keys) {
      this.#installed.delete(key);
      this.#checked.delete(key);
      for (const out of this.#out.values()) out.delete(key);
    }
  }

  /** Keys that are wanted and in the speaker, but not yet looked up in Adj-RIBs-Out. */
  unchecked(): readonly RouteKey[] {
    if (this.#established.length === 0) return [];
    const unchecked: RouteKey[] = [];
    for (const [key, wanted] of this.#wanted) {
      if (!this.#checked.has(key) && this.#isInstalled(key, wanted)) unchecked.push(key);
    }
    return unchecked;
  }

  /** Sets which of the looked-up routes are in a neighbor's Adj-RIB-Out. */
  setAdjOut(options: { neighbor: string; looked: readonly RouteKey[]; found: ReadonlySet<RouteKey> }): void {
    const out = this.#out.get(options.neighbor) ?? new Set();
    this.#out.set(options.neighbor, out);
    for (const key of options.looked) {
      if (options.found.has(key)) out.add(key);
      else out.delete(key);
    }
  }

  /**
   * Call this after setAdjOut() of every neighbor. Returns the request times of routes that are announced for the first
   * time.
   */
  finishLookup(keys: readonly RouteKey[]): readonly number[] {
    const wantedAt: number[] = [];
    for (const key of keys) {
      this.#checked.add(key);
      const wanted = this.#wanted.get(key);
      if (wanted === undefined || this.#everOut.has(key) || !this.#isOut(key)) continue;
      this.#everOut.add(key);
      wantedAt.push(wanted.wantedAtMs);
    }
    return wantedAt;
  }

  isOutAt(neighbor: string, key: RouteKey): boolean {
    return this.#out.get(neighbor)?.has(key) === true;
  }

  /** Number of our routes in the speaker that the neighbor gets if it takes them all. */
  installedFor(neighbor: string): ReadonlyMap<RouteFamily, number> {
    const counts = new Map<RouteFamily, number>();
    const others = [markOf(neighbor, "policy"), markOf(neighbor, "room")];
    for (const [key, { marks }] of this.#installed) {
      if (marks.length > 0 && others.some((mark) => marks.includes(mark))) continue;
      const family = familyOfKey(key);
      counts.set(family, (counts.get(family) ?? 0) + 1);
    }
    return counts;
  }

  advertised(neighbor: string): number {
    return this.#out.get(neighbor)?.size ?? 0;
  }

  state(key: RouteKey, speaker: SpeakerState): RouteState {
    const wanted = this.#wanted.get(key);
    if (wanted === undefined) return { kind: "pending" };
    const { problem } = this.#termsOf(wanted);
    if (problem !== null) return { kind: "failed", cause: problem };
    if (this.#isKeptBack(key)) return { kind: "failed", cause: KEPT_BACK };
    if (speaker.kind === "down") return { kind: "speaker_down", cause: speaker.cause };
    if (speaker.kind === "starting") return { kind: "pending" };
    if (!this.#isForEstablished(wanted.route)) return { kind: "no_session" };
    if (!this.#isInstalled(key, wanted)) return { kind: "pending" };
    if (this.#isOut(key)) return { kind: "announced" };
    if (!this.#checked.has(key)) return { kind: "pending" };
    const beyond = this.#established.find(({ address }) => this.isBeyondRoom(address, key));
    if (beyond !== undefined)
      return { kind: "failed", cause: this.withheldCause(beyond.address, key), isBeyondRoom: true };
    return { kind: "failed", cause: this.#keptBackCause(key, wanted.route) };
  }

  /** Whether a neighbor with a session is to get it. */
  #isForEstablished(route: Route): boolean {
    return this.#established.some(({ address }) => this.#policies.refusalAt(address, route) === null);
  }

  #keptBackCause(key: RouteKey, route: Route): string {
    const family = familyOfRoute(route);
    const isBeyond = this.#established.some(({ address }) => this.isWithheldFrom(address, key));
    if (isBeyond) return `no neighbor takes more ${familyText(family)} routes`;
    return this.#established.some(({ families }) => families.includes(family))
      ? "in no neighbor's out-table: the speaker's export policy or another route of the prefix keeps it back"
      : `no established neighbor takes ${familyText(family)} routes`;
  }

  /** undefined: it is not wanted. */
  #problemOf(key: RouteKey): string | null | undefined {
    const wanted = this.#wanted.get(key);
    return wanted && this.#termsOf(wanted).problem;
  }

  #isSendable(key: RouteKey, wanted: WantedRoute): boolean {
    return this.#termsOf(wanted).problem === null && !this.#isKeptBack(key);
  }

  #isInstalled(key: RouteKey, wanted: WantedRoute): boolean {
    const installed = this.#installed.get(key);
    if (installed?.attributes !== this.#termsOf(wanted).attributes) return false;
    return isSameMarks(installed.marks, this.#marksOf(key, wanted));
  }

  #isOut(key: RouteKey): boolean {
    for (const out of this.#out.values()) if (out.has(key)) return true;
    return false;
  }
}

function isSameMarks(a: Marks, b: Marks): boolean {
  return a.length === b.length && a.every((mark, i) => mark === b[i]);
}

function sessionsText(sessions: readonly Session[]): string {
  // The time distinguishes a session that broke and came back between two polls.
  return sessions.map((s) => `${s.address} ${s.families.join("+")} ${s.changedAtMs}`).join();
}
