/**
 * Which nodes are alive, by their polls alone (docs/interface.md#node-liveness): a node is alive while one of its polls
 * is parked, and for some time after. Time is an argument.
 */
import type { Now } from "../system/now.ts";

/** `not_seen`: no poll since the start, which was too recent to call the node lost. */
export type Liveness = "alive" | "not_seen" | "lost";

/** Time without a poll after which a node counts as lost, where the configuration says nothing of it. */
export const STALE_AFTER_SECONDS = 15;

interface Sighting {
  /** Polls in progress. */
  polls: number;
  /** The last start or end of a poll. */
  seen: Now;
}

export class NodePresence {
  readonly #sightings = new Map<string, Sighting>();
  /** By configured node: since when its polls are expected. */
  #expectedSinceMs: ReadonlyMap<string, number> = new Map();

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
  }

  /** Call this once for each started poll. */
  pollEnded(name: string, now: Now): void {
    const sighting = this.#sightings.get(name);
    if (sighting === undefined) return;
    sighting.polls--;
    sighting.seen = now;
    this.#removeIfUnused(name);
  }

  /** Whether a poll is parked now. */
  isHolding(name: string): boolean {
    return (this.#sightings.get(name)?.polls ?? 0) > 0;
  }

  /** null: no poll since the start. */
  lastSeen(name: string): Now | null {
    return this.#sightings.get(name)?.seen ?? null;
  }

  livenessOf(name: string, nowMs: number, staleAfterMs: number): Liveness {
    if (this.isHolding(name)) return "alive";
    const seen = this.lastSeen(name);
    if (seen !== null) return nowMs - seen.monotonicMs <= staleAfterMs ? "alive" : "lost";
    const sinceMs = this.#expectedSinceMs.get(name);
    return sinceMs !== undefined && nowMs - sinceMs <= staleAfterMs ? "not_seen" : "lost";
  }

  /** A node that a reload removed is kept until its polls end. */
  #removeIfUnused(name: string): void {
    if (!this.#expectedSinceMs.has(name) && !this.isHolding(name)) this.#sightings.delete(name);
  }
}
