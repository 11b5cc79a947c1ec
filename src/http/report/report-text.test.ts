import { expect, test } from "bun:test";
import { metricWords, percent, short } from "./report-text.ts";

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

test("a number has three digits, and its step is that of the rounded one", () => {
  expect([0, 0.5, 999.4, 999.6, 213_456, 999_950, 1e6, 1e21].map(short)).toEqual([
    ...["0", "0.5", "999", "1 k", "213 k", "1 M", "1 M", "1000000 P"],
  ]);
});

test.each([
  ["pps", "packets"],
  ["tcp_syn_mbps", "TCP SYN bits"],
  ["frag_pps", "fragment packets"],
  ["flows_per_sec", "new flows"],
])("the metric %s is called %s", (metric, text) => {
  expect(metricWords(metric)).toBe(text);
});
