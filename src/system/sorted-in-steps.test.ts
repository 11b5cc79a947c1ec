import { expect, test } from "bun:test";
import { ran } from "../../test/fixtures/steps.ts";
import { sortedInSteps } from "./sorted-in-steps.ts";

interface Item {
  readonly key: number;
  readonly at: number;
}

test.each([0, 1, 255, 256, 257, 512, 513, 5000])("%d items are sorted, and equal ones stay in their order", (count) => {
  const items: Item[] = Array.from({ length: count }, (_, at) => ({ key: (at * 7919) % 97, at }));
  const compare = (a: Item, b: Item) => a.key - b.key;
  expect(ran(sortedInSteps(items, compare))).toEqual(items.toSorted(compare));
});

test("a step compares few of many items", () => {
  let comparisons = 0;
  const compare = (a: number, b: number) => {
    comparisons++;
    return a - b;
  };
  const steps = sortedInSteps(
    Array.from({ length: 11_000 }, (_, i) => (i * 7919) % 11_000),
    compare,
  );
  let most = 0;
  for (let [before, isDone] = [0, false]; !isDone; before = comparisons) {
    isDone = steps.next().done === true;
    most = Math.max(most, comparisons - before);
  }
  expect(most).toBeLessThan(4096);
});
