/** Which bans a tick looks at closely: in turns, since each costs time of the event loop. */

/** Bans that one tick checks: it bounds the time that a tick blocks the event loop. */
export const BANS_REVIEWED = 2000;

export class ReviewTurn {
  /** Index of the one with which the next turn continues. */
  #next = 0;

  /** Each with whether it is its turn. */
  *of<T>(items: readonly T[]): Generator<readonly [item: T, isReviewed: boolean]> {
    const { length } = items;
    const from = length > BANS_REVIEWED ? this.#next % length : 0;
    this.#next = from + BANS_REVIEWED;
    for (const [i, item] of items.entries()) yield [item, (i - from + length) % length < BANS_REVIEWED];
  }
}
