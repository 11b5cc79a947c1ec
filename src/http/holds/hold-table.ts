/** Parked polls, found by what they wait for and counted by whose they are. */

/** What the table must know of a parked poll. */
export interface Parked {
  /** Of the document that it waits for. */
  readonly key: string;
  /** Whose it is; empty: nobody's in particular. */
  readonly tokenName: string;
}

export class HoldTable<Hold extends Parked> {
  readonly #all = new Set<Hold>();
  readonly #byKey = new Map<string, Set<Hold>>();
  readonly #countByToken = new Map<string, number>();

  get size(): number {
    return this.#all.size;
  }

  has(hold: Hold): boolean {
    return this.#all.has(hold);
  }

  all(): Iterable<Hold> {
    return this.#all;
  }

  ofKey(key: string): Iterable<Hold> {
    return this.#byKey.get(key) ?? [];
  }

  countOf(tokenName: string): number {
    return this.#countByToken.get(tokenName) ?? 0;
  }

  add(hold: Hold): void {
    const { key, tokenName } = hold;
    this.#all.add(hold);
    const sameKey = this.#byKey.get(key);
    if (sameKey === undefined) this.#byKey.set(key, new Set([hold]));
    else sameKey.add(hold);
    this.#countByToken.set(tokenName, this.countOf(tokenName) + 1);
  }

  /** Of a hold whose key is as it was when it was added. */
  remove(hold: Hold): void {
    const { key, tokenName } = hold;
    this.#all.delete(hold);
    const sameKey = this.#byKey.get(key);
    sameKey?.delete(hold);
    if (sameKey?.size === 0) this.#byKey.delete(key);
    const left = this.countOf(tokenName) - 1;
    if (left === 0) this.#countByToken.delete(tokenName);
    else this.#countByToken.set(tokenName, left);
  }
}
