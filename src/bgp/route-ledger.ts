/**
 * What is wanted, what the speaker has of ours, and what goes out to whom; from these three, what is to be done and
 * the state of each route. Does no I/O.
 */
import type { Route, RouteState } from "../mitigation/announcer.ts";
import type { Session } from "./neighbor.ts";
import { familyOfRoute, familyText } from "./route-family.ts";
import { attributesOf, keyOf, type OwnPath, type RouteKey, routeProblem } from "./route-path.ts";

interface WantedRoute {
  readonly route: Route;
  readonly attributes: string;
  /** Why it cannot be sent; null: it can. */
  readonly problem: string | null;
  /** Monotonic. */
  readonly wantedAtMs: number;
}

/** The speaker, as seen from a route. */
export type SpeakerState = { readonly kind: "starting" | "up" } | { readonly kind: "down"; readonly cause: string };

const KEPT_BACK = "kept back: a neighbor reset its session each time that it was sent";

export class RouteLedger {
  readonly #wanted = new Map<RouteKey, WantedRoute>();
  /** Attributes. */
  readonly #installed = new Map<RouteKey, string>();
  #established: readonly Session[] = [];
  /** Keys by neighbor, of those in #established. */
  readonly #out = new Map<string, Set<RouteKey>>();
  /** Looked for in the out-tables of all of #established. */
  readonly #checked = new Set<RouteKey>();
  /** Announced since they are wanted. */
  readonly #everOut = new Set<RouteKey>();
  /** Kept back for what neighbors do over them. */
  readonly #isKeptBack: (key: RouteKey) => boolean;
  /** A rule's takes a while to make, and most routes stay the same ones. */
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

  /** Of two routes of one key the last counts. */
  want(routes: readonly Route[], nowMs: number): void {
    const before = new Map(this.#wanted);
    this.#wanted.clear();
    for (const route of routes) {
      const key = this.keyOf(route);
      const known = before.get(key);
      // Most are the very same: comparing thousands by their attributes takes longer than to announce one.
      const attributes = known?.route === route ? known.attributes : attributesOf(route);
      const problem = known?.route === route ? known.problem : routeProblem(route);
      const wantedAtMs = known?.attributes === attributes ? known.wantedAtMs : nowMs;
      this.#wanted.set(key, { route, attributes, problem, wantedAtMs });
    }
    for (const key of this.#everOut) if (!this.#wanted.has(key)) this.#everOut.delete(key);
  }

  /** All that the speaker has of ours; the out-tables are to be read again. */
  speakerHas(paths: readonly OwnPath[]): void {
    this.#installed.clear();
    for (const path of paths) this.#installed.set(path.key, path.attributes);
    this.#checked.clear();
  }

  /** Returns whether anything changed for the routes. */
  sessionsAre(sessions: readonly Session[]): boolean {
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

  /** To be announced. */
  missing(): readonly Route[] {
    const missing: Route[] = [];
    for (const [key, { route, attributes, problem }] of this.#wanted) {
      if (problem === null && !this.#isKeptBack(key) && this.#installed.get(key) !== attributes) missing.push(route);
    }
    return missing;
  }

  /** To be withdrawn. A wanted route that cannot be sent leaves an older one of its key no place. */
  surplus(): readonly RouteKey[] {
    return [...this.#installed.keys()].filter(
      (key) => this.#wanted.get(key)?.problem !== null || this.#isKeptBack(key),
    );
  }

  added(routes: readonly Route[]): void {
    for (const route of routes) {
      const key = this.keyOf(route);
      const wanted = this.#wanted.get(key);
      this.#installed.set(key, wanted?.route === route ? wanted.attributes : attributesOf(route));
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

  /** Wanted and in the speaker; whether they go out is to be looked up. */
  unchecked(): readonly RouteKey[] {
    if (this.#established.length === 0) return [];
    return [...this.#wanted.keys()].filter((key) => this.#isInstalled(key) && !this.#checked.has(key));
  }

  /** Which of the looked-up routes a neighbor's out-table has. */
  outTable(options: { neighbor: string; looked: readonly RouteKey[]; found: ReadonlySet<RouteKey> }): void {
    const out = this.#out.get(options.neighbor) ?? new Set();
    this.#out.set(options.neighbor, out);
    for (const key of options.looked) {
      if (options.found.has(key)) out.add(key);
      else out.delete(key);
    }
  }

  /** After outTable() of every neighbor. Returns the times at which routes were wanted that are out for the first time. */
  checked(keys: readonly RouteKey[]): readonly number[] {
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

  advertised(neighbor: string): number {
    return this.#out.get(neighbor)?.size ?? 0;
  }

  state(key: RouteKey, speaker: SpeakerState): RouteState {
    const wanted = this.#wanted.get(key);
    if (wanted === undefined) return { kind: "pending" };
    if (wanted.problem !== null) return { kind: "failed", cause: wanted.problem };
    if (this.#isKeptBack(key)) return { kind: "failed", cause: KEPT_BACK };
    if (speaker.kind === "down") return { kind: "speaker_down", cause: speaker.cause };
    if (speaker.kind === "starting") return { kind: "pending" };
    if (this.#established.length === 0) return { kind: "no_session" };
    if (!this.#isInstalled(key)) return { kind: "pending" };
    if (this.#isOut(key)) return { kind: "announced" };
    if (!this.#checked.has(key)) return { kind: "pending" };
    return { kind: "failed", cause: this.#keptBackCause(wanted.route) };
  }

  #keptBackCause(route: Route): string {
    const family = familyOfRoute(route);
    const takes = this.#established.some((session) => session.families.includes(family));
    return takes
      ? "in no neighbor's out-table: the speaker's export policy or another route of the prefix keeps it back"
      : `no established neighbor takes ${familyText(family)} routes`;
  }

  #isInstalled(key: RouteKey): boolean {
    return this.#installed.get(key) === this.#wanted.get(key)?.attributes;
  }

  #isOut(key: RouteKey): boolean {
    for (const out of this.#out.values()) if (out.has(key)) return true;
    return false;
  }
}

function sessionsText(sessions: readonly Session[]): string {
  // The time tells a session that broke and came back between two looks.
  return sessions.map((s) => `${s.address} ${s.families.join("+")} ${s.changedAtMs}`).join();
}
