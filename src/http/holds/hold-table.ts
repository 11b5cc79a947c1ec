/** Parked polls, indexed by their document and counted by token. */

/** The table's view of a parked poll. */
export interface Parked {
  /** Key of the document that it waits for. */
  readonly key: string;
  /** Empty: no token (open API). */
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

  /** The hold's key must not have changed since it was added. */
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
