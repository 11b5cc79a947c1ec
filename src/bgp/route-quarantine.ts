/**
 * FlowSpec rules over which a neighbor resets its session: a router that cannot take a rule drops all of our routes
 * with the session, and again each time that it comes back. Decides from the order of events alone; does no I/O.
 */
import { QUARANTINED_RULES_MAX } from "../limits.ts";
import type { Session } from "./neighbor.ts";
import { familyOfKey, type RouteKey } from "./route-path.ts";

/** A session that breaks so soon after something breaks because of it. */
export const AFTERMATH_MS = 3_000;
/** A neighbor that came back and stayed for so long has no quarrel with the routes. */
export const PEACE_MS = 10_000;
/** So long a rule is kept back, also from the bans to come; then it gets another chance. */
export const MEMORY_MS = 3_600_000;

export type QuarantineNews =
  /** The neighbor's session, up until then, broke right after these were sent to it. */
  | { readonly kind: "suspected"; readonly neighbor: string; readonly routes: readonly RouteKey[] }
  /** It broke again as soon as it was back: these are kept back from now on. */
  | { readonly kind: "kept_back"; readonly neighbor: string; readonly routes: readonly RouteKey[] }
  /** There are too many: the oldest get their other chance early. */
  | { readonly kind: "let_go"; readonly routes: readonly RouteKey[] };

interface Up {
  readonly session: Session;
  /** Monotonic. */
  readonly seenAtMs: number;
  /** Rules that went to this neighbor of late. */
  readonly sentAtMs: Map<RouteKey, number>;
}

/**
 * A rule is held against it by single neighbors and kept back from all, for as long as one of them is there: the
 * speaker has one table for all of them.
 */
export class RouteQuarantine {
  /** By neighbor, as are the suspects. */
  readonly #up = new Map<string, Up>();
  readonly #suspects = new Map<string, readonly RouteKey[]>();
  /** Until when, by neighbor; the oldest rule first. */
  readonly #heldAgainst = new Map<RouteKey, Map<string, number>>();
  /** In any state of their sessions. */
  #neighbors: ReadonlySet<string> = new Set();

  sent(keys: readonly RouteKey[], nowMs: number): void {
    for (const { session, sentAtMs } of this.#up.values()) {
      for (const [key, atMs] of sentAtMs) if (nowMs - atMs > AFTERMATH_MS) sentAtMs.delete(key);
      for (const key of keys) if (session.families.includes(familyOfKey(key))) sentAtMs.set(key, nowMs);
    }
  }

  /** What the speaker tells of its neighbors; not to be told when it is the speaker that went away. */
  sessionsAre(sessions: readonly Session[], nowMs: number): readonly QuarantineNews[] {
    this.#neighbors = new Set(sessions.map(({ address }) => address));
    for (const address of this.#suspects.keys()) if (!this.#neighbors.has(address)) this.#suspects.delete(address);
    this.#forgetOld(nowMs);
    const news: QuarantineNews[] = [];
    const now = new Map(sessions.filter(({ state }) => state === "established").map((s) => [s.address, s]));
    for (const [address, up] of this.#up) {
      if (now.get(address)?.changedAtMs === up.session.changedAtMs) {
        if (nowMs - up.seenAtMs > PEACE_MS) this.#suspects.delete(address);
        continue;
      }
      this.#up.delete(address);
      news.push(...this.#broke(up, nowMs));
    }
    for (const [address, session] of now) {
      if (!this.#up.has(address)) this.#up.set(address, { session, seenAtMs: nowMs, sentAtMs: new Map() });
    }
    return news;
  }

  /** The speaker went away, and its sessions with it. */
  speakerLost(): void {
    this.#up.clear();
  }

  keepsBack(key: RouteKey): boolean {
    const neighbors = this.#heldAgainst.get(key);
    return neighbors !== undefined && [...neighbors.keys()].some((address) => this.#neighbors.has(address));
  }

  /** How many rules are kept back on account of this neighbor, wanted or not. */
  heldBy(neighbor: string): number {
    return [...this.#heldAgainst.values()].filter((neighbors) => neighbors.has(neighbor)).length;
  }

  /** Neighbors that come and go all the time accuse nobody: their sessions were brief before anything was sent. */
  #broke({ session, seenAtMs, sentAtMs }: Up, nowMs: number): readonly QuarantineNews[] {
    const { address: neighbor } = session;
    const wasBrief = nowMs - seenAtMs <= AFTERMATH_MS;
    const suspects = this.#suspects.get(neighbor);
    if (wasBrief) {
      if (suspects === undefined) return [];
      this.#suspects.delete(neighbor);
      for (const key of suspects) this.#holdAgainst(key, neighbor, nowMs + MEMORY_MS);
      return [{ kind: "kept_back", neighbor, routes: suspects }, ...this.#letGo()];
    }
    const fresh = [...sentAtMs].filter(([, atMs]) => nowMs - atMs <= AFTERMATH_MS).map(([key]) => key);
    if (fresh.length === 0) return [];
    this.#suspects.set(neighbor, fresh);
    return [{ kind: "suspected", neighbor, routes: fresh }];
  }

  #holdAgainst(key: RouteKey, neighbor: string, untilMs: number): void {
    const neighbors = this.#heldAgainst.get(key) ?? new Map<string, number>();
    this.#heldAgainst.delete(key);
    this.#heldAgainst.set(key, neighbors.set(neighbor, untilMs));
  }

  #letGo(): readonly QuarantineNews[] {
    const routes = [...this.#heldAgainst.keys()].slice(0, Math.max(0, this.#heldAgainst.size - QUARANTINED_RULES_MAX));
    for (const key of routes) this.#heldAgainst.delete(key);
    return routes.length === 0 ? [] : [{ kind: "let_go", routes }];
  }

  #forgetOld(nowMs: number): void {
    for (const [key, neighbors] of this.#heldAgainst) {
      for (const [neighbor, untilMs] of neighbors) if (nowMs >= untilMs) neighbors.delete(neighbor);
      if (neighbors.size === 0) this.#heldAgainst.delete(key);
    }
  }
}
