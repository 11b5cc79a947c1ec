import { beforeEach, describe, expect, test } from "bun:test";
import { clearTrace, splitOf, TRACE_POINTS_MAX, total, trace, traced } from "./traffic-trace.ts";

const NONE = { pps: 0, mbps: 0, flows_per_sec: 0 };
const rates = { ...NONE, pps: 100, mbps: 10, udp_pps: 60, tcp_pps: 30, udp_mbps: 9 };
const groups = (n = 1) => ({
  available: true,
  hostgroups: Array.from({ length: n }, () => ({ name: "global", rates, rates_out: NONE })),
});

describe("the split of traffic", () => {
  test("is summed over hostgroups; protocols without their own series are other", () => {
    expect(splitOf([rates, rates])).toEqual({
      pps: { udp: 120, tcp: 60, icmp: 0, other: 20 },
      mbps: { udp: 18, tcp: 0, icmp: 0, other: 2 },
    });
    expect(total(splitOf([rates, rates]), "pps")).toBe(200);
  });

  test("is never below zero, where rounded parts come to more than the whole", () => {
    expect(splitOf([{ ...NONE, pps: 1, udp_pps: 1.001 }]).pps.other).toBe(0);
  });
});

describe("the trace", () => {
  beforeEach(clearTrace);

  test("has one point a second, the last one read", () => {
    for (const atMs of [1000, 1900, 3000]) traced(groups(atMs === 1900 ? 2 : 1), atMs);
    expect(trace.value.map(({ at, incoming }) => [at, incoming.pps.udp])).toEqual([
      [1, 120],
      [3, 60],
    ]);
  });

  test.each([-1, 0, 1])("holds its bound and %d points", (more) => {
    for (let second = 1; second <= TRACE_POINTS_MAX + more; second++) traced(groups(), second * 1000);
    expect(trace.value.length).toBe(Math.min(TRACE_POINTS_MAX, TRACE_POINTS_MAX + more));
    expect(trace.value.at(-1)?.at).toBe(TRACE_POINTS_MAX + more);
  });
});
