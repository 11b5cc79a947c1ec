/** Rows that other brains have not confirmed yet: each is sent again when its connection begins. Pure. */

export class PendingRows<Row extends { readonly id: string }> {
  readonly #byBrain: ReadonlyMap<string, Map<string, Row>>;
  readonly #most: number;
  /** Rows that a brain never confirmed, and that were given up for later ones. */
  givenUp = 0;

  constructor(brains: readonly string[], most: number) {
    this.#byBrain = new Map(brains.map((name) => [name, new Map<string, Row>()]));
    this.#most = most;
  }

  add(row: Row): void {
    for (const rows of this.#byBrain.values()) {
      rows.set(row.id, row);
      const [oldest] = rows.keys();
      if (rows.size <= this.#most || oldest === undefined) continue;
      rows.delete(oldest);
      this.givenUp++;
    }
  }

  taken(brain: string, ids: readonly string[]): void {
    for (const id of ids) this.#byBrain.get(brain)?.delete(id);
  }

  /** Oldest first. */
  of(brain: string): readonly Row[] {
    return [...(this.#byBrain.get(brain)?.values() ?? [])];
  }
}
