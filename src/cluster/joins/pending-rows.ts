/**
 * Rows that other brains have not confirmed yet: each is sent again when its connection begins, also after a restart. Pure
 * but for its store.
 */
import type { RecordTable } from "../../system/record-table.ts";

/** As it is stored, with the brains that have not confirmed it. */
export type UnconfirmedRow<Row> = Row & { readonly brains: readonly string[] };

interface PendingRowsOptions<Row> {
  /** The other ones. */
  readonly brains: readonly string[];
  /** Rows of one brain at most; over it the oldest is left to this brain alone. */
  readonly most: number;
  /** By id. */
  readonly store: Pick<RecordTable<UnconfirmedRow<Row>>, "queue">;
}

export class PendingRows<Row extends { readonly id: string }> {
  readonly #options: PendingRowsOptions<Row>;
  readonly #byBrain: ReadonlyMap<string, Map<string, Row>>;

  /** @param stored of an earlier process, the oldest first. */
  constructor(options: PendingRowsOptions<Row>, stored: Iterable<UnconfirmedRow<Row>> = []) {
    this.#options = options;
    this.#byBrain = new Map(options.brains.map((name) => [name, new Map<string, Row>()]));
    for (const { brains, ...rest } of stored) {
      const row = rest as unknown as Row;
      for (const brain of brains) this.#byBrain.get(brain)?.set(row.id, row);
      if (!brains.some((brain) => this.#byBrain.has(brain))) options.store.queue(row.id, null);
    }
  }

  add(row: Row): void {
    for (const rows of this.#byBrain.values()) {
      rows.set(row.id, row);
      const [oldest] = rows.values();
      if (rows.size <= this.#options.most || oldest === undefined) continue;
      rows.delete(oldest.id);
      this.#store(oldest);
    }
    this.#store(row);
  }

  taken(brain: string, ids: readonly string[]): void {
    const rows = this.#byBrain.get(brain);
    for (const id of ids) {
      const row = rows?.get(id);
      if (row === undefined) continue;
      rows?.delete(id);
      this.#store(row);
    }
  }

  /** Oldest first. */
  of(brain: string): readonly Row[] {
    return [...(this.#byBrain.get(brain)?.values() ?? [])];
  }

  #store(row: Row): void {
    const brains = [...this.#byBrain].flatMap(([brain, rows]) => (rows.has(row.id) ? [brain] : []));
    this.#options.store.queue(row.id, brains.length === 0 ? null : { ...row, brains });
  }
}
