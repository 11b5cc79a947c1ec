/**
 * Which nodes are there, by their polls alone (docs/interface.md#node-liveness): a node is alive while a poll of it is
 * parked and for a while after. Monotonic time is an argument, ms.
 */

/** `not_seen`: not since the start, which is too short ago to tell. */
export type Liveness = "alive" | "not_seen" | "lost";

interface Sighting {
  /** Polls in progress. */
  polls: number;
  /** When one began or ended last. */
  seenAtMs: number;
}

export class NodePresence {
  readonly #sightings = new Map<string, Sighting>();
  /** Of the nodes that there are: since when they are listened for. */
  #listenedSinceMs: ReadonlyMap<string, number> = new Map();

  /** The nodes that there are from now on. */
  reconfigure(names: readonly string[], nowMs: number): void {
    const before = this.#listenedSinceMs;
    this.#listenedSinceMs = new Map(names.map((name) => [name, before.get(name) ?? nowMs]));
    for (const name of this.#sightings.keys()) this.#forgetIfGone(name);
  }

  pollStarted(name: string, nowMs: number): void {
    const sighting = this.#sightings.get(name);
    if (sighting === undefined) this.#sightings.set(name, { polls: 1, seenAtMs: nowMs });
    else {
      sighting.polls++;
      sighting.seenAtMs = nowMs;
    }
  }

  /** Of a poll that started. */
  pollEnded(name: string, nowMs: number): void {
    const sighting = this.#sightings.get(name);
    if (sighting === undefined) return;
    sighting.polls--;
    sighting.seenAtMs = nowMs;
    this.#forgetIfGone(name);
  }

  /** A poll is parked now. */
  isHolding(name: string): boolean {
    return (this.#sightings.get(name)?.polls ?? 0) > 0;
  }

  /** null: not heard of since the start. */
  lastSeenMs(name: string): number | null {
    return this.#sightings.get(name)?.seenAtMs ?? null;
  }

  livenessOf(name: string, nowMs: number, staleAfterMs: number): Liveness {
    if (this.isHolding(name)) return "alive";
    const seenMs = this.lastSeenMs(name);
    if (seenMs !== null) return nowMs - seenMs <= staleAfterMs ? "alive" : "lost";
    const sinceMs = this.#listenedSinceMs.get(name);
    return sinceMs !== undefined && nowMs - sinceMs <= staleAfterMs ? "not_seen" : "lost";
  }

  /** A poll that a reload ends still ends. */
  #forgetIfGone(name: string): void {
    if (!this.#listenedSinceMs.has(name) && !this.isHolding(name)) this.#sightings.delete(name);
  }
}
