/** Parked polls, indexed by their document and counted by token and node. */

/** The table's view of a parked poll. */
interface Parked {
  /** Key of the document that it waits for. */
  readonly key: string;
  /** Empty: no token (open API). */
  readonly tokenName: string;
  /** That its token is bound to; null: none. */
  readonly node: string | null;
}

export class HoldTable<Hold extends Parked> {
  readonly #all = new Set<Hold>();
  readonly #byKey = new Map<string, Set<Hold>>();
  readonly #countByToken = new Map<string, number>();
  readonly #countByNode = new Map<string | null, number>();

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

  hasOfNode(node: string): boolean {
    return this.#countByNode.has(node);
  }

  add(hold: Hold): void {
    const { key, tokenName, node } = hold;
    this.#all.add(hold);
    const sameKey = this.#byKey.get(key);
    if (sameKey === undefined) this.#byKey.set(key, new Set([hold]));
    else sameKey.add(hold);
    addTo(this.#countByToken, tokenName, 1);
    addTo(this.#countByNode, node, 1);
  }

  /** The hold's key must not have changed since it was added. */
  remove(hold: Hold): void {
    const { key, tokenName, node } = hold;
    this.#all.delete(hold);
    const sameKey = this.#byKey.get(key);
    sameKey?.delete(hold);
    if (sameKey?.size === 0) this.#byKey.delete(key);
    addTo(this.#countByToken, tokenName, -1);
    addTo(this.#countByNode, node, -1);
  }
}

function addTo<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
