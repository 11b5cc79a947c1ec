/**
 * Filters and sorts rows in small steps, so that a long list does not hold up the page: the caller decides after each
 * step whether to go on or to let the browser draw. Pure.
 */

export interface Ordering<Row> {
  readonly keep: (row: Row) => boolean;
  /** null: the rows stay in their order. */
  readonly order: ((row: Row) => number | string) | null;
  readonly isDescending: boolean;
}

interface Keyed<Row> {
  readonly row: Row;
  readonly by: number | string;
}

/** Rows of one step. */
const STEP_ROWS = 250;

/** A merge sort: rows of equal order stay as they came, also when it is descending. */
export function* ordered<Row>(rows: readonly Row[], ordering: Ordering<Row>): Generator<void, readonly Row[], void> {
  const { keep, order, isDescending } = ordering;
  let runs: Keyed<Row>[][] = [];
  for (let from = 0; from < rows.length; from += STEP_ROWS) {
    const kept = rows.slice(from, from + STEP_ROWS).filter(keep);
    const run = kept.map((row) => ({ row, by: order === null ? 0 : order(row) }));
    run.sort((a, b) => compare(a, b, isDescending));
    runs.push(run);
    yield;
  }
  while (runs.length > 1) {
    const merged: Keyed<Row>[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      merged.push(yield* merge(runs[i] as Keyed<Row>[], runs[i + 1] ?? [], isDescending));
    }
    runs = merged;
  }
  return (runs[0] ?? []).map(({ row }) => row);
}

function* merge<Row>(a: Keyed<Row>[], b: Keyed<Row>[], isDescending: boolean): Generator<void, Keyed<Row>[], void> {
  const out: Keyed<Row>[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (right === undefined || (left !== undefined && compare(left, right, isDescending) <= 0)) {
      out.push(left as Keyed<Row>);
      i++;
    } else {
      out.push(right);
      j++;
    }
    if (out.length % (4 * STEP_ROWS) === 0) yield;
  }
  return out;
}

function compare<Row>(a: Keyed<Row>, b: Keyed<Row>, isDescending: boolean): number {
  const sign = a.by < b.by ? -1 : a.by > b.by ? 1 : 0;
  return isDescending ? -sign : sign;
}
