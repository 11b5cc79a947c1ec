/**
 * What is wanted, what the speaker has of ours, and what goes out to whom; from these three, what is to be done and
 * the state of each route. Does no I/O.
 */
import type { Route, RouteState } from "../mitigation/announcer.ts";
import type { Session } from "./neighbor.ts";
import { attributesOf, type OwnPath, routeProblem } from "./route-path.ts";

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

export class RouteLedger {
  readonly #wanted = new Map<string, WantedRoute>();
  /** Attributes by prefix. */
  readonly #installed = new Map<string, string>();
  #established: readonly Session[] = [];
  /** Prefixes by neighbor, of those in #established. */
  readonly #out = new Map<string, Set<string>>();
  /** Prefixes looked for in the out-tables of all of #established. */
  readonly #checked = new Set<string>();
  /** Prefixes that were announced since they are wanted. */
  readonly #everOut = new Set<string>();

  /** Of two routes of one prefix the last counts. */
  want(routes: readonly Route[], nowMs: number): void {
    const before = new Map(this.#wanted);
    this.#wanted.clear();
    for (const route of routes) {
      const known = before.get(route.prefix.text);
      // Most are the very same: comparing thousands by their attributes takes longer than to announce one.
      const attributes = known?.route === route ? known.attributes : attributesOf(route);
      const isSame = known?.attributes === attributes;
      const problem = isSame ? known.problem : routeProblem(route);
      const wantedAtMs = isSame ? known.wantedAtMs : nowMs;
      this.#wanted.set(route.prefix.text, { route, attributes, problem, wantedAtMs });
    }
    for (const prefix of this.#everOut) if (!this.#wanted.has(prefix)) this.#everOut.delete(prefix);
  }

  /** All that the speaker has of ours; the out-tables are to be read again. */
  speakerHas(paths: readonly OwnPath[]): void {
    this.#installed.clear();
    for (const path of paths) this.#installed.set(path.prefix, path.attributes);
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
    for (const [prefix, { route, attributes, problem }] of this.#wanted) {
      if (problem === null && this.#installed.get(prefix) !== attributes) missing.push(route);
    }
    return missing;
  }

  /** Prefixes to be withdrawn. A wanted route that cannot be sent leaves an older one of its prefix no place. */
  surplus(): readonly string[] {
    return [...this.#installed.keys()].filter((prefix) => this.#wanted.get(prefix)?.problem !== null);
  }

  added(routes: readonly Route[]): void {
    for (const route of routes) {
      const wanted = this.#wanted.get(route.prefix.text);
      this.#installed.set(route.prefix.text, wanted?.route === route ? wanted.attributes : attributesOf(route));
      this.#checked.delete(route.prefix.text);
    }
  }

  withdrawn(prefixes: readonly string[]): void {
    for (const prefix of prefixes) {
      this.#installed.delete(prefix);
      this.#checked.delete(prefix);
      for (const out of this.#out.values()) out.delete(prefix);
    }
  }

  /** Wanted and in the speaker; whether they go out is to be looked up. */
  unchecked(): readonly string[] {
    if (this.#established.length === 0) return [];
    return [...this.#wanted.keys()].filter((prefix) => this.#isInstalled(prefix) && !this.#checked.has(prefix));
  }

  /** Which of the looked-up prefixes a neighbor's out-table has. */
  outTable(options: { neighbor: string; looked: readonly string[]; found: ReadonlySet<string> }): void {
    const out = this.#out.get(options.neighbor) ?? new Set();
    this.#out.set(options.neighbor, out);
    for (const prefix of options.looked) {
      if (options.found.has(prefix)) out.add(prefix);
      else out.delete(prefix);
    }
  }

  /** After outTable() of every neighbor. Returns the times at which routes were wanted that are out for the first time. */
  checked(prefixes: readonly string[]): readonly number[] {
    const wantedAt: number[] = [];
    for (const prefix of prefixes) {
      this.#checked.add(prefix);
      const wanted = this.#wanted.get(prefix);
      if (wanted === undefined || this.#everOut.has(prefix) || !this.#isOut(prefix)) continue;
      this.#everOut.add(prefix);
      wantedAt.push(wanted.wantedAtMs);
    }
    return wantedAt;
  }

  advertised(neighbor: string): number {
    return this.#out.get(neighbor)?.size ?? 0;
  }

  state(prefix: string, speaker: SpeakerState): RouteState {
    const wanted = this.#wanted.get(prefix);
    if (wanted === undefined) return { kind: "pending" };
    if (wanted.problem !== null) return { kind: "failed", cause: wanted.problem };
    if (speaker.kind === "down") return { kind: "failed", cause: speaker.cause };
    if (speaker.kind === "starting") return { kind: "pending" };
    if (this.#established.length === 0) return { kind: "no_session" };
    if (!this.#isInstalled(prefix)) return { kind: "pending" };
    if (this.#isOut(prefix)) return { kind: "announced" };
    if (!this.#checked.has(prefix)) return { kind: "pending" };
    return { kind: "failed", cause: this.#keptBackCause(wanted.route) };
  }

  #keptBackCause({ prefix: { family } }: Route): string {
    const takes = this.#established.some((session) => session.families.includes(family));
    return takes
      ? "in no neighbor's out-table: the speaker's export policy or another route of the prefix keeps it back"
      : `no established neighbor takes IPv${family} unicast routes`;
  }

  #isInstalled(prefix: string): boolean {
    return this.#installed.get(prefix) === this.#wanted.get(prefix)?.attributes;
  }

  #isOut(prefix: string): boolean {
    for (const out of this.#out.values()) if (out.has(prefix)) return true;
    return false;
  }
}

function sessionsText(sessions: readonly Session[]): string {
  // The time tells a session that broke and came back between two looks.
  return sessions.map((s) => `${s.address} ${s.families.join("+")} ${s.changedAtMs}`).join();
}
