import { expect, test } from "bun:test";
import { attackChartWords, drawnPoints, outcomesOf } from "./attack-chart.ts";

test.each([
  ["pps", "pps", "All packets", 100],
  ["mbps", "mbps", "All bandwidth", 100],
  ["flows_per_sec", "flows_per_sec", "All new flows", 100],
  ["udp_pps", "pps", "All packets", null],
  ["tcp_syn_mbps", "mbps", "All bandwidth", null],
])(
  "an attack by %s is shown by %s, with its threshold if that is of the same traffic",
  (metric, base, label, threshold) => {
    const words = attackChartWords({ metric, threshold: 100 });
    expect<object>(words).toMatchObject({ base, label, threshold });
    expect(words.note === null).toBe(threshold !== null);
  },
);

test("what was dropped and passed is beside a rate of all packets or bits alone, of which it is a part", () => {
  const point = { dropped_pps: 4, dropped_mbps: 5, passed_pps: 3, passed_mbps: 2 };
  expect(outcomesOf("pps", [point, {}])).toEqual({ dropped: [4, null], passed: [3, null] });
  expect(outcomesOf("mbps", [point])).toEqual({ dropped: [5], passed: [2] });
  expect([outcomesOf("udp_pps", [point]), outcomesOf("tcp_mbps", [point])]).toEqual([null, null]);
  expect([outcomesOf("pps", [{}]), outcomesOf("pps", [])]).toEqual([null, null]);
});

test("says that the line has other traffic than the attack's metric", () => {
  expect(attackChartWords({ metric: "tcp_syn_pps", threshold: 1 }).note).toBe(
    "The line is packets of all traffic: the history has no SYN packets alone, by which the attack was detected.",
  );
});

test("a time without points is a gap in the lines, and no ramp", () => {
  const point = (second: number, seconds: number) =>
    ({ at: new Date(1000 * second).toISOString(), seconds, rate: 5 }) as Parameters<typeof drawnPoints>[0][number];
  const [before, first, next] = [point(100, 1), point(108, 0.1), point(108.1, 0.1)];
  expect(drawnPoints([before, first, next])).toEqual({
    times: [100, 101, 108, 108.1],
    points: [before, null, first, next],
  });
  expect(drawnPoints([])).toEqual({ times: [], points: [] });
});
