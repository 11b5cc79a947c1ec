/**
 * Keeps back FlowSpec rules over which a neighbor resets its session: a router that cannot handle a rule drops all our
 * routes with the session, again after each reconnect. Decides by the order of events alone; does no I/O.
 */
import { familyOfKey, type RouteKey } from "./route-path.ts";
import type { Session } from "./speaker/neighbor.ts";

/** Quarantined FlowSpec rules, because of which neighbors reset their sessions. */
export const QUARANTINED_RULES_MAX = 10_000;

/** A session that breaks within this time after an event is assumed to break because of it. */
export const RESET_CAUSE_MS = 3_000;
/** After a reconnect, a session that lasts this long shows that the routes are accepted. */
export const SESSION_STABLE_MS = 10_000;
/** Time for which a rule is kept back, also for new bans; then it is tried again. */
export const KEPT_BACK_MS = 3_600_000;

export type QuarantineEvent =
  /** The neighbor's established session broke right after these routes were sent to it. */
  | { readonly kind: "suspected"; readonly neighbor: string; readonly routes: readonly RouteKey[] }
  /** It broke again right after the reconnect: these routes are kept back from now on. */
  | { readonly kind: "kept_back"; readonly neighbor: string; readonly routes: readonly RouteKey[] }
  /** Too many rules are kept back: the oldest are released early. */
  | { readonly kind: "released"; readonly routes: readonly RouteKey[] };

/** A rule that is kept back because of a neighbor. */
export interface KeptBack {
  readonly rule: RouteKey;
  readonly neighbor: string;
  readonly untilMs: number;
}

interface Up {
  readonly session: Session;
  /** Monotonic. */
  readonly seenAtMs: number;
  /** By rule recently sent to this neighbor: the time. */
  readonly sentAtMs: Map<RouteKey, number>;
}

/**
 * Single neighbors cause a rule to be kept back; it is kept back from all, while one of these is configured, since the
 * speaker has one table for all.
 */
export class RouteQuarantine {
  /** By neighbor, as #suspects. */
  readonly #up = new Map<string, Up>();
  readonly #suspects = new Map<string, readonly RouteKey[]>();
  /** By neighbor whose session ends for another reason: when that was known. */
  readonly #endedAtMs = new Map<string, number>();
  /** By rule: until when, for each neighbor that caused it; the oldest rule first. */
  readonly #keptBackUntil = new Map<RouteKey, Map<string, number>>();
  /** All neighbors, in any session state; null: not known yet, so that any may be there. */
  #neighbors: ReadonlySet<string> | null = null;

  sent(key: RouteKey, nowMs: number): void {
    const family = familyOfKey(key);
    for (const { session, sentAtMs } of this.#up.values()) {
      if (session.families.includes(family)) sentAtMs.set(key, nowMs);
    }
  }

  /** The neighbor's session ends, or has just ended, for a reason that is no rule of ours. */
  ends(neighbor: string, nowMs: number): void {
    this.#endedAtMs.set(neighbor, nowMs);
  }

  /** Takes the sessions as the speaker reports them. Do not call it when the speaker itself failed. */
  setSessions(sessions: readonly Session[], nowMs: number): readonly QuarantineEvent[] {
    const neighbors = new Set(sessions.map(({ address }) => address));
    this.#neighbors = neighbors;
    for (const address of this.#suspects.keys()) if (!neighbors.has(address)) this.#suspects.delete(address);
    this.#removeExpired(nowMs);
    const events: QuarantineEvent[] = [];
    const now = new Map(sessions.filter(({ state }) => state === "established").map((s) => [s.address, s]));
    for (const [address, up] of this.#up) {
      for (const [key, atMs] of up.sentAtMs) if (nowMs - atMs > RESET_CAUSE_MS) up.sentAtMs.delete(key);
      if (now.get(address)?.changedAtMs === up.session.changedAtMs) {
        if (nowMs - up.seenAtMs > SESSION_STABLE_MS) this.#suspects.delete(address);
        continue;
      }
      this.#up.delete(address);
      events.push(...this.#onSessionLost(up, nowMs));
    }
    for (const [address, session] of now) {
      if (!this.#up.has(address)) this.#up.set(address, { session, seenAtMs: nowMs, sentAtMs: new Map() });
    }
    return events;
  }

  /** The speaker failed, and its sessions with it. */
  speakerLost(): void {
    this.#up.clear();
  }

  isKeptBack(key: RouteKey): boolean {
    const causes = this.#keptBackUntil.get(key);
    const neighbors = this.#neighbors;
    return causes !== undefined && (neighbors === null || [...causes.keys()].some((address) => neighbors.has(address)));
  }

  /** All that is kept back, the oldest rule first, with the times of this object's clock. */
  keptBack(): readonly KeptBack[] {
    return [...this.#keptBackUntil].flatMap(([rule, neighbors]) =>
      [...neighbors].map(([neighbor, untilMs]) => ({ rule, neighbor, untilMs })),
    );
  }

  /** Takes what another object kept back. Returns what was released for it. */
  restore(entries: readonly KeptBack[]): readonly QuarantineEvent[] {
    for (const { rule, neighbor, untilMs } of entries.slice(-QUARANTINED_RULES_MAX)) {
      this.#keepBackFor(rule, neighbor, untilMs);
    }
    return this.#releaseOldest();
  }

  /** Number of rules that are kept back because of this neighbor, wanted or not. */
  keptBackCount(neighbor: string): number {
    return [...this.#keptBackUntil.values()].filter((neighbors) => neighbors.has(neighbor)).length;
  }

  /** A neighbor whose session was brief before anything was sent suspects no rule. */
  #onSessionLost({ session, seenAtMs, sentAtMs }: Up, nowMs: number): readonly QuarantineEvent[] {
    const { address: neighbor } = session;
    const endedAtMs = this.#endedAtMs.get(neighbor) ?? Number.NEGATIVE_INFINITY;
    this.#endedAtMs.delete(neighbor);
    if (nowMs - endedAtMs <= RESET_CAUSE_MS) return [];
    const wasBrief = nowMs - seenAtMs <= RESET_CAUSE_MS;
    const suspects = this.#suspects.get(neighbor);
    if (wasBrief) {
      if (suspects === undefined) return [];
      this.#suspects.delete(neighbor);
      for (const key of suspects) this.#keepBackFor(key, neighbor, nowMs + KEPT_BACK_MS);
      return [{ kind: "kept_back", neighbor, routes: suspects }, ...this.#releaseOldest()];
    }
    const fresh = [...sentAtMs].filter(([, atMs]) => nowMs - atMs <= RESET_CAUSE_MS).map(([key]) => key);
    if (fresh.length === 0) return [];
    this.#suspects.set(neighbor, fresh);
    return [{ kind: "suspected", neighbor, routes: fresh }];
  }

  #keepBackFor(key: RouteKey, neighbor: string, untilMs: number): void {
    const neighbors = this.#keptBackUntil.get(key) ?? new Map<string, number>();
    this.#keptBackUntil.delete(key);
    this.#keptBackUntil.set(key, neighbors.set(neighbor, untilMs));
  }

  #releaseOldest(): readonly QuarantineEvent[] {
    const routes = [...this.#keptBackUntil.keys()].slice(
      0,
      Math.max(0, this.#keptBackUntil.size - QUARANTINED_RULES_MAX),
    );
    for (const key of routes) this.#keptBackUntil.delete(key);
    return routes.length === 0 ? [] : [{ kind: "released", routes }];
  }

  #removeExpired(nowMs: number): void {
    for (const [key, neighbors] of this.#keptBackUntil) {
      for (const [neighbor, untilMs] of neighbors) if (nowMs >= untilMs) neighbors.delete(neighbor);
      if (neighbors.size === 0) this.#keptBackUntil.delete(key);
    }
  }
}
