/** Selects the busiest of many rows of intervals, with bounded memory. */
import { INTERVAL_VALUES, type IntervalRows } from "./interval-rows.ts";
import { allocateSnapshot, type TotalRow, TRAFFIC_VALUES, type TrafficSnapshot } from "./traffic-history.ts";

/** Rows of attacked hosts come first. */
const IN_ATTACK = Number.POSITIVE_INFINITY;

interface RowMarks {
  readonly outgoing: boolean;
  readonly inAttack: boolean;
  /** null: nothing was learned. */
  readonly baselinePps: number | null;
}

export class BusiestRows {
  readonly #kept: number;
  /** Room for twice the number of kept rows: when full, the lower half is removed. */
  readonly #columns: ReturnType<typeof allocateSnapshot>;
  readonly #priorities: Float64Array;
  #count = 0;
  /** Rows at or below this rate would not be kept. */
  #floor = -1;
  /** Number of omitted rows. */
  cut = 0;

  constructor(kept: number) {
    this.#kept = kept;
    this.#columns = allocateSnapshot(2 * kept);
    this.#priorities = new Float64Array(2 * kept);
  }

  /** Empties it for the next snapshot. */
  clear(): void {
    this.#count = 0;
    this.#floor = -1;
    this.cut = 0;
  }

  /** Adds the row unless it has no traffic in this direction, or too little. */
  add(rows: IntervalRows, row: number, { outgoing, inAttack, baselinePps }: RowMarks): void {
    const column = outgoing ? rows.outgoing : rows.incoming;
    const at = row * INTERVAL_VALUES;
    if (column[at] === 0) return;
    const priority = inAttack ? IN_ATTACK : (column[at + 3] as number);
    if (priority <= this.#floor) {
      this.cut++;
      return;
    }
    if (this.#count === this.#priorities.length) this.#shrink();
    const to = this.#count++;
    this.#priorities[to] = priority;
    this.#columns.addresses.set(rows.addresses.subarray(row * 16, row * 16 + 16), to * 16);
    this.#columns.outgoing[to] = outgoing ? 1 : 0;
    this.#columns.inAttack[to] = inAttack ? 1 : 0;
    const { values } = this.#columns;
    const valuesAt = to * TRAFFIC_VALUES;
    values.set(column.subarray(at, at + 3), valuesAt);
    values[valuesAt + 3] = baselinePps ?? Number.NaN;
    values.set(column.subarray(at + 3, at + INTERVAL_VALUES), valuesAt + 4);
  }

  /** The rows with the means over these seconds. Returns a copy: this object may be reused. */
  snapshot(atSeconds: number, seconds: number, totals: readonly TotalRow[]): TrafficSnapshot {
    if (this.#count > this.#kept) this.#shrink();
    const { addresses, outgoing, inAttack, values } = this.#columns;
    const count = this.#count;
    const means = values.slice(0, count * TRAFFIC_VALUES);
    for (let at = 0; at < means.length; at += TRAFFIC_VALUES) {
      for (let i = at; i < at + 3; i++) means[i] = (means[i] as number) / seconds;
    }
    return {
      atSeconds,
      seconds,
      count,
      addresses: addresses.slice(0, count * 16),
      outgoing: outgoing.slice(0, count),
      inAttack: inAttack.slice(0, count),
      values: means,
      totals,
    };
  }

  /** Keeps the busiest `kept` rows. */
  #shrink(): void {
    const ordered = this.#priorities.slice(0, this.#count).sort();
    const floor = ordered[this.#count - this.#kept] as number;
    let equals = 0;
    for (let i = this.#count - this.#kept; i < this.#count && ordered[i] === floor; i++) equals++;
    let to = 0;
    for (let from = 0; from < this.#count; from++) {
      const priority = this.#priorities[from] as number;
      if (priority < floor || (priority === floor && equals-- <= 0)) continue;
      this.#move(from, to++);
    }
    this.cut += this.#count - to;
    this.#count = to;
    this.#floor = floor;
  }

  #move(from: number, to: number): void {
    if (from === to) return;
    const { addresses, outgoing, inAttack, values } = this.#columns;
    this.#priorities[to] = this.#priorities[from] as number;
    addresses.copyWithin(to * 16, from * 16, from * 16 + 16);
    outgoing[to] = outgoing[from] as number;
    inAttack[to] = inAttack[from] as number;
    values.copyWithin(to * TRAFFIC_VALUES, from * TRAFFIC_VALUES, (from + 1) * TRAFFIC_VALUES);
  }
}
