/** Long work in slices, between which the browser draws; at once where it does not: there it also holds timers back. */

/** Time of one slice: with what else a frame does, it stays well below 50 ms. */
const SLICE_MS = 8;

/** Resolves with what the steps return. */
export async function inSlices<Value>(steps: Iterator<void, Value, void>): Promise<Value> {
  for (let until = performance.now() + SLICE_MS; ; ) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (performance.now() < until || document.visibilityState === "hidden") continue;
    await new Promise((resolve) => setTimeout(resolve));
    until = performance.now() + SLICE_MS;
  }
}
