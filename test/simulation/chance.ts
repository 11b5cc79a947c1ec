/** Draws from a seed: the same seed, the same simulation. */
import { seededRandom } from "../fixtures/seeded-random.ts";

export class Chance {
  readonly random: () => number;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** A whole number from 0 to one less. */
  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  oneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  /** Each power of ten as likely as the next. */
  logarithmic(least: number, most: number): number {
    return least * (most / least) ** this.random();
  }

  /** Of a list that is not empty. */
  oneOf<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
}
