/** Incidents by their customer, which a reload may change. */

interface OfCustomer {
  readonly id: string;
  readonly customer: string;
}

export class ByCustomer<Item extends OfCustomer> {
  /** Oldest first; none is empty. */
  readonly #lists = new Map<string, readonly Item[]>();

  of(customer: string): readonly Item[] {
    return this.#lists.get(customer) ?? [];
  }

  /** Those with the most first. */
  bySize(): readonly (readonly Item[])[] {
    return [...this.#lists.values()].sort((a, b) => b.length - a.length);
  }

  add(item: Item): void {
    const list = [...this.of(item.customer), item];
    this.#lists.set(
      item.customer,
      list.sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
  }

  remove(item: Item): void {
    const others = this.of(item.customer).filter((other) => other !== item);
    if (others.length === 0) this.#lists.delete(item.customer);
    else this.#lists.set(item.customer, others);
  }
}
