/** Sorts large lists, so that other work can run in between. */

/** Items that one step sorts or merges: about 50 µs. */
const STEP_ITEMS = 256;

/** As toSorted(): equal items stay in their order. Yields between its steps. */
export function* sortedInSteps<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<undefined, readonly T[]> {
  let runs: (readonly T[])[] = [];
  for (let i = 0; i < items.length; i += STEP_ITEMS) {
    runs.push(items.slice(i, i + STEP_ITEMS).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = [];
    for (let i = 0; i < runs.length; i += 2) merged.push(yield* merge(runs[i] ?? [], runs[i + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<T>(
  first: readonly T[],
  second: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<undefined, readonly T[]> {
  const merged: T[] = [];
  let [i, j] = [0, 0];
  while (i < first.length && j < second.length) {
    merged.push(compare(first[i] as T, second[j] as T) <= 0 ? (first[i++] as T) : (second[j++] as T));
    if (merged.length % STEP_ITEMS === 0) yield;
  }
  return merged.concat(first.slice(i), second.slice(j));
}
