/**
 * How many routes of each family a neighbor takes, learned from the notifications with which it ends its sessions and
 * from the numbers that it took. Most routers say neither family nor limit (RFC 4486, 4, leaves that open). Times are
 * monotonic.
 */
import type { RouteFamily } from "../route-family.ts";
import type { RouteLimit } from "../withheld-routes.ts";
import type { PrefixLimit } from "./peer-notification.ts";

/** Number of our routes of each family that a neighbor gets, if it takes them all. */
export type RouteCounts = ReadonlyMap<RouteFamily, number>;

/** A neighbor has taken a number of routes if it still has its session after this time. */
export const TAKEN_MS = 5_000;
/** Time before more routes are tried while the limit is not known, doubled with each session that this ended. */
export const LEARN_MIN_MS = 5_000;
/** Time before one more route than a known limit is tried, doubled with each session that this ended. */
export const RECHECK_MIN_MS = 3_600_000;
export const RECHECK_MAX_MS = 24 * 3_600_000;
/** While the limit is not known, the number of routes rises by this part of the range in which it must be. */
const LEARN_STEPS = 8;

interface Family {
  /** The largest number that the neighbor took. */
  taken: number;
  /** The smallest number over which it ended a session; Infinity: no limit is known. */
  refused: number;
  /** The largest number that is sent; below `refused`, except while one more than a known limit is tried. */
  allowed: number;
  /** More than `taken` are sent since then; null: they are not. */
  trial: { readonly routes: number; readonly sinceMs: number } | null;
  raiseAtMs: number;
  /** Sessions that ended while the limit was being learned, and over one more route than a known limit. */
  learnFaults: number;
  recheckFaults: number;
}

export class NeighborLimits {
  readonly #neighbors = new Map<string, Map<RouteFamily, Family>>();

  /** Call this often. @param wanted by neighbor with a session. */
  observe(wanted: ReadonlyMap<string, RouteCounts>, nowMs: number): void {
    for (const [neighbor, families] of this.#neighbors) {
      if (!wanted.has(neighbor)) for (const family of families.values()) family.trial = null;
    }
    for (const [neighbor, counts] of wanted) {
      for (const [name, count] of counts) settle(this.#family(neighbor, name), count, nowMs);
      this.#raiseOne(neighbor, counts, nowMs);
    }
  }

  /** The neighbor ended its session over the number of our routes. @param limit null: it did not say which. */
  limitReached(neighbor: string, limit: PrefixLimit | null, wanted: RouteCounts, nowMs: number): void {
    const sent = new Map<RouteFamily, number>();
    for (const [name, count] of wanted) {
      const number = Math.min(count, this.#family(neighbor, name).allowed);
      if (number > 0 && (limit === null || limit.family === name)) sent.set(name, number);
    }
    // Without the family: those of which it got more than it ever took; if there are none, its limit was lowered.
    const more = [...sent].filter(([name, number]) => number > this.#family(neighbor, name).taken);
    for (const [name, number] of more.length > 0 ? more : sent) {
      refuse(this.#family(neighbor, name), { sent: number, limit: limit?.routes ?? null, nowMs });
    }
  }

  /** A limit that an earlier process of the service applied. */
  restore({ neighbor, family: name, routes }: RouteLimit, nowMs: number): void {
    const family = this.#family(neighbor, name);
    family.taken = family.allowed = routes;
    family.refused = routes + 1;
    family.raiseAtMs = nowMs + raiseAfterMs(family);
  }

  /** As another brain found it, which has a session with the neighbor too. What this one found itself counts more. */
  suggest({ neighbor, family: name, routes }: RouteLimit, nowMs: number): void {
    const { refused, taken } = this.#family(neighbor, name);
    if (refused === Number.POSITIVE_INFINITY && taken <= routes)
      this.restore({ neighbor, family: name, routes }, nowMs);
  }

  /** Limits that are found, not those that are being looked for. */
  known(): readonly RouteLimit[] {
    return [...this.#neighbors].flatMap(([neighbor, families]) =>
      [...families].flatMap(([family, { taken, refused }]) =>
        taken + 1 === refused ? { neighbor, family, routes: taken } : [],
      ),
    );
  }

  limits(): readonly RouteLimit[] {
    return [...this.#neighbors].flatMap(([neighbor, families]) =>
      [...families].flatMap(([family, { allowed }]) =>
        allowed === Number.POSITIVE_INFINITY ? [] : { neighbor, family, routes: allowed },
      ),
    );
  }

  /** Forgets all neighbors but these. */
  keep(neighbors: ReadonlySet<string>): void {
    for (const neighbor of this.#neighbors.keys()) if (!neighbors.has(neighbor)) this.#neighbors.delete(neighbor);
  }

  /** One family at a time: a notification often does not say which one it is about. */
  #raiseOne(neighbor: string, counts: RouteCounts, nowMs: number): void {
    const families = [...counts].map(([name, count]) => ({ family: this.#family(neighbor, name), count }));
    if (families.some(({ family }) => family.trial !== null)) return;
    const next = families.find(({ family, count }) => count > family.allowed && nowMs >= family.raiseAtMs)?.family;
    if (next === undefined) return;
    const range = next.refused - next.allowed - 1;
    next.allowed += Math.max(1, Math.floor(range / LEARN_STEPS));
    next.trial = { routes: next.allowed, sinceMs: nowMs };
  }

  #family(neighbor: string, name: RouteFamily): Family {
    const families = this.#neighbors.get(neighbor) ?? new Map<RouteFamily, Family>();
    this.#neighbors.set(neighbor, families);
    const family = families.get(name) ?? unlimited();
    families.set(name, family);
    return family;
  }
}

function unlimited(): Family {
  const none = Number.POSITIVE_INFINITY;
  return { taken: 0, refused: none, allowed: none, trial: null, raiseAtMs: 0, learnFaults: 0, recheckFaults: 0 };
}

function settle(family: Family, count: number, nowMs: number): void {
  const sent = Math.min(count, family.allowed);
  const { trial } = family;
  if (sent <= family.taken) {
    family.trial = null;
    // Not over a new attack, but when it is due again.
    if (family.allowed === family.refused) family.allowed = family.refused - 1;
  } else if (trial === null || sent < trial.routes) {
    family.trial = { routes: sent, sinceMs: nowMs };
  } else if (nowMs - trial.sinceMs >= TAKEN_MS) {
    family.taken = trial.routes;
    family.trial = sent > trial.routes ? { routes: sent, sinceMs: nowMs } : null;
    if (family.taken >= family.refused) Object.assign(family, { ...unlimited(), taken: family.taken });
    family.raiseAtMs = nowMs + raiseAfterMs(family);
  }
}

function refuse(family: Family, { sent, limit, nowMs }: { sent: number; limit: number | null; nowMs: number }): void {
  if (sent >= family.refused) family.recheckFaults++;
  else family.learnFaults++;
  // A limit of at least as many as were sent counts something else than our routes.
  if (limit !== null && limit < sent) {
    family.taken = limit;
    family.refused = limit + 1;
  } else {
    family.refused = Math.min(family.refused, sent);
    if (family.taken >= family.refused) family.taken = 0;
  }
  family.allowed = Math.floor((family.taken + family.refused) / 2);
  family.trial = null;
  family.raiseAtMs = nowMs + raiseAfterMs(family);
}

function raiseAfterMs({ allowed, refused, learnFaults, recheckFaults }: Family): number {
  const isKnown = allowed + 1 >= refused;
  return isKnown
    ? Math.min(RECHECK_MIN_MS * 2 ** recheckFaults, RECHECK_MAX_MS)
    : Math.min(LEARN_MIN_MS * 2 ** Math.max(0, learnFaults - 1), RECHECK_MIN_MS);
}
