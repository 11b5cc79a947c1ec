import { expect, test } from "bun:test";
import { ordered } from "./ordering.ts";

const rows = Array.from({ length: 3001 }, (_, number) => ({ number, by: (number * 7919) % 100 }));
const all = { keep: () => true, order: ({ by }: (typeof rows)[number]) => by, isDescending: false };

function run<Row>(steps: Generator<void, readonly Row[], void>): {
  readonly rows: readonly Row[];
  readonly steps: number;
} {
  for (let count = 0; ; count++) {
    const { done, value } = steps.next();
    if (done === true) return { rows: value, steps: count };
  }
}

test("is the order of a stable sort, ascending and descending", () => {
  expect(run(ordered(rows, all)).rows).toEqual(rows.toSorted((a, b) => a.by - b.by));
  expect(run(ordered(rows, { ...all, isDescending: true })).rows).toEqual(rows.toSorted((a, b) => b.by - a.by));
});

test("keeps what is wanted, and without an order the rows stay as they came", () => {
  const odd = run(ordered(rows, { ...all, order: null, keep: ({ number }) => number % 2 === 1 })).rows;
  expect(odd).toEqual(rows.filter(({ number }) => number % 2 === 1));
  expect(run(ordered([], all)).rows).toEqual([]);
});

test("a long list takes many steps", () => {
  expect(run(ordered(rows, all)).steps).toBeGreaterThan(12);
});
