/**
 * Neighbors that are left alone for a while, since they end their sessions over the number of our routes. Each further
 * attempt follows after a longer pause, or when there are fewer routes than ever were too many. Times are monotonic.
 */

export const PAUSE_MIN_MS = 30_000;
export const PAUSE_MAX_MS = 3_600_000;

interface Pause {
  readonly ms: number;
  readonly untilMs: number;
  /** The least number of routes that were too many. */
  readonly routes: number;
}

export interface Load {
  /** Number of our routes in the speaker. */
  readonly routes: number;
  readonly nowMs: number;
}

export class NeighborPauses {
  readonly #pauses = new Map<string, Pause>();

  /** The neighbor ended its session over this number of routes. */
  limitReached(neighbor: string, { routes, nowMs }: Load): void {
    const last = this.#pauses.get(neighbor);
    const isRelated = last !== undefined && nowMs < last.untilMs + PAUSE_MAX_MS;
    const ms = isRelated ? Math.min(2 * last.ms, PAUSE_MAX_MS) : PAUSE_MIN_MS;
    this.#pauses.set(neighbor, {
      ms,
      untilMs: nowMs + ms,
      routes: isRelated ? Math.min(last.routes, routes) : routes,
    });
  }

  isPaused(neighbor: string, { routes, nowMs }: Load): boolean {
    const pause = this.#pauses.get(neighbor);
    return pause !== undefined && nowMs < pause.untilMs && routes >= pause.routes;
  }

  /** The configuration may be another one: try again. */
  clear(): void {
    this.#pauses.clear();
  }
}
