import { expect, test } from "bun:test";
import { percent } from "./report-text.ts";

test("a share that is nearly all is not all", () => {
  expect([percent(0.004), percent(0.5), percent(0.996), percent(0.99996), percent(1 - 1e-12), percent(1.2)]).toEqual([
    "0.4 %",
    "50 %",
    "99.6 %",
    "99.9 %",
    "100 %",
    "120 %",
  ]);
});
