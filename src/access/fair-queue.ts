/**
 * A queue by tenant, where no caller is refused: the tenants take turns, every other turn is the administrator's, and
 * over a bound the newest of the tenant with the most is dropped.
 */

/** null: the administrator, or no caller. */
export type Tenant = string | null;

export class FairQueue<T> {
  /** By tenant, in the order of their turns; none is empty. */
  readonly #waiting = new Map<Tenant, T[]>();
  #size = 0;
  #wasAdministrator = false;

  get size(): number {
    return this.#size;
  }

  push(tenant: Tenant, item: T): void {
    const own = this.#waiting.get(tenant);
    if (own === undefined) this.#waiting.set(tenant, [item]);
    else own.push(item);
    this.#size++;
  }

  /** The next by turns. */
  shift(): T | undefined {
    const tenants = this.#waiting.keys();
    let tenant = this.#waiting.has(null) && !this.#wasAdministrator ? null : tenants.next().value;
    if (tenant === null && this.#wasAdministrator) tenant = tenants.next().value ?? null;
    if (tenant === undefined) return undefined;
    this.#wasAdministrator = tenant === null;
    return this.#takeFirst(tenant);
  }

  /** The newest of the tenant that has most. */
  dropOfLargest(): T | undefined {
    const [largest] = [...this.#waiting].sort(([, a], [, b]) => b.length - a.length);
    if (largest === undefined) return undefined;
    const [tenant, own] = largest;
    if (own.length === 1) this.#waiting.delete(tenant);
    this.#size--;
    return own.pop();
  }

  /** Removes and returns those that are so; a queue is looked at from its oldest on until one is not. */
  takeOldestWhile(isTaken: (item: T) => boolean): T[] {
    const taken: T[] = [];
    for (const [tenant, own] of [...this.#waiting]) {
      const kept = own.findIndex((item) => !isTaken(item));
      const count = kept < 0 ? own.length : kept;
      for (let i = 0; i < count; i++) taken.push(this.#takeFirst(tenant, false) as T);
    }
    return taken;
  }

  /** In no order. */
  *items(): Generator<T> {
    for (const own of this.#waiting.values()) yield* own;
  }

  clear(): void {
    this.#waiting.clear();
    this.#size = 0;
  }

  /** @param endsTurn the tenant's next turn comes after those of all others. */
  #takeFirst(tenant: Tenant, endsTurn = true): T | undefined {
    const own = this.#waiting.get(tenant);
    const first = own?.shift();
    if (own === undefined || first === undefined) return undefined;
    this.#size--;
    if (endsTurn || own.length === 0) this.#waiting.delete(tenant);
    if (endsTurn && own.length > 0) this.#waiting.set(tenant, own);
    return first;
  }
}
