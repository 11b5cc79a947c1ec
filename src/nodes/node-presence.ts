/**
 * Which nodes are alive, by their polls alone (docs/interface.md#node-liveness): a node is alive while one of its polls
 * is parked, and for some time after. Time is an argument.
 */
import type { Now } from "../system/now.ts";

/**
 * `not_seen`: no poll since the start, which was too recent to call the node lost. `unknown`: another brain saw it last, and
 * is out of reach.
 */
export type Liveness = "alive" | "not_seen" | "unknown" | "lost";

/** Time without a poll after which a node counts as lost, where the configuration says nothing of it. */
export const STALE_AFTER_SECONDS = 15;

interface Sighting {
  /** Polls in progress. */
  polls: number;
  /** The last start or end of a poll. */
  seen: Now;
}

/** The sightings of other brains, by the own monotonic clock, ms. */
interface OtherBrains {
  /** null: the own sighting alone decides. */
  stateOf(
    node: string,
    ownSeenMs: number | null,
    at: { readonly nowMs: number; readonly staleAfterMs: number },
  ): "alive" | "unknown" | null;
  /** null: none of them saw it. */
  seenMs(node: string, nowMs: number): number | null;
}

export class NodePresence {
  /** null: there is one brain. */
  #others: OtherBrains | null = null;
  #onSighting: (name: string) => void = () => {};
  readonly #sightings = new Map<string, Sighting>();
  /** By configured node: since when its polls are expected. */
  #expectedSinceMs: ReadonlyMap<string, number> = new Map();

  /** @param onSighting called after each start and end of a poll. */
  join(others: OtherBrains, onSighting: (name: string) => void): void {
    this.#others = others;
    this.#onSighting = onSighting;
  }

  /** Sets the configured nodes. */
  reconfigure(names: readonly string[], nowMs: number): void {
    const before = this.#expectedSinceMs;
    this.#expectedSinceMs = new Map(names.map((name) => [name, before.get(name) ?? nowMs]));
    for (const name of this.#sightings.keys()) this.#removeIfUnused(name);
  }

  pollStarted(name: string, now: Now): void {
    const sighting = this.#sightings.get(name);
    if (sighting === undefined) this.#sightings.set(name, { polls: 1, seen: now });
    else {
      sighting.polls++;
      sighting.seen = now;
    }
    this.#onSighting(name);
  }

  /** Call this once for each started poll. */
  pollEnded(name: string, now: Now): void {
    const sighting = this.#sightings.get(name);
    if (sighting === undefined) return;
    sighting.polls--;
    sighting.seen = now;
    this.#onSighting(name);
    this.#removeIfUnused(name);
  }

  /** Whether a poll is parked now. */
  isHolding(name: string): boolean {
    return (this.#sightings.get(name)?.polls ?? 0) > 0;
  }

  /** By the own polls. null: no poll since the start. */
  lastSeen(name: string): Now | null {
    return this.#sightings.get(name)?.seen ?? null;
  }

  /** Wall clock, ms, by any brain. null: none saw it since the start. */
  lastSeenAt(name: string, now: Now): number | null {
    const own = this.lastSeen(name);
    const otherMs = this.#others?.seenMs(name, now.monotonicMs) ?? null;
    if (otherMs === null || (own !== null && own.monotonicMs >= otherMs)) return own?.wallMs ?? null;
    return now.wallMs - (now.monotonicMs - otherMs);
  }

  livenessOf(name: string, nowMs: number, staleAfterMs: number): Liveness {
    const own = this.#ownLivenessOf(name, nowMs, staleAfterMs);
    if (own === "alive" || this.#others === null) return own;
    const seenMs = this.lastSeen(name)?.monotonicMs ?? null;
    const elsewhere = this.#others.stateOf(name, seenMs, { nowMs, staleAfterMs });
    // A node that was never seen is waited for, also while a brain is out of reach.
    return elsewhere === "unknown" && own === "not_seen" ? own : (elsewhere ?? own);
  }

  #ownLivenessOf(name: string, nowMs: number, staleAfterMs: number): Liveness {
    if (this.isHolding(name)) return "alive";
    const seen = this.lastSeen(name);
    if (seen !== null) return nowMs - seen.monotonicMs <= staleAfterMs ? "alive" : "lost";
    const sinceMs = this.#expectedSinceMs.get(name);
    return sinceMs !== undefined && nowMs - sinceMs <= staleAfterMs ? "not_seen" : "lost";
  }

  /** Names of the nodes that were seen here. */
  seenNodes(): Iterable<string> {
    return this.#sightings.keys();
  }

  /** A node that a reload removed is kept until its polls end. */
  #removeIfUnused(name: string): void {
    if (!this.#expectedSinceMs.has(name) && !this.isHolding(name)) this.#sightings.delete(name);
  }
}
