/**
 * Numbers of routes that neighbors take, as far as they are known: what this service found goes to listeners such as other
 * brains, and what these found to the speaker, which would otherwise end a session to find it again.
 */
import type { RouteLimit } from "./withheld-routes.ts";

export class LearnedLimits {
  readonly #isNeighbor: (address: string) => boolean;
  readonly #listeners: ((limits: readonly RouteLimit[]) => void)[] = [];
  #known: readonly RouteLimit[] = [];
  /** By neighbor and family: found by others, not given to the speaker yet. */
  readonly #others = new Map<string, RouteLimit>();

  constructor(isNeighbor: (address: string) => boolean) {
    this.#isNeighbor = isNeighbor;
  }

  get known(): readonly RouteLimit[] {
    return this.#known;
  }

  /** Called with all that are known, whenever one is found or changes. */
  onLearned(listener: (limits: readonly RouteLimit[]) => void): void {
    this.#listeners.push(listener);
  }

  /** Takes the limits that another brain found. */
  take(limits: readonly RouteLimit[]): void {
    for (const limit of limits) if (this.#isNeighbor(limit.neighbor)) this.#others.set(nameOf(limit), limit);
  }

  /** Takes the limits that the speaker knows now. */
  found(known: readonly RouteLimit[]): void {
    const before = new Set(this.#known.map(textOf));
    this.#known = known;
    if (known.some((limit) => !before.has(textOf(limit)))) for (const listener of this.#listeners) listener(known);
  }

  /** Those of others since the last call. */
  takeOthers(): readonly RouteLimit[] {
    const others = [...this.#others.values()];
    this.#others.clear();
    return others;
  }
}

const nameOf = ({ neighbor, family }: RouteLimit) => `${neighbor} ${family}`;
const textOf = (limit: RouteLimit) => `${nameOf(limit)} ${limit.routes}`;
