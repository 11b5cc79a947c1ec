import { describe, expect, test } from "bun:test";
import { holdsPairLease, LEASE_MS, type LeasePeer, RECEIVED_MS } from "./pair-lease.ts";

const NOW = 100_000;
const up = (name: string, more: Partial<LeasePeer> = {}): LeasePeer => {
  return { name, isUp: true, sinceMs: 50_000, receivedMs: NOW, ...more };
};
const down = (name: string, forMs: number): LeasePeer => ({
  ...{ name, isUp: false, sinceMs: NOW - forMs, receivedMs: null },
});
const holds = (own: string, peers: readonly LeasePeer[], startedMs = 0) => {
  return holdsPairLease(own, peers, { nowMs: NOW, startedMs });
};

describe("of two brains that see each other", () => {
  test("the one with the lower name holds", () => {
    expect([holds("a", [up("b")]), holds("b", [up("a")])]).toEqual([true, false]);
  });

  test("none holds that has received nothing for some seconds: it may have been frozen", () => {
    expect(holds("a", [up("b", { receivedMs: NOW - RECEIVED_MS + 1 })])).toBe(true);
    expect(holds("a", [up("b", { receivedMs: NOW - RECEIVED_MS })])).toBe(false);
  });
});

describe("while the other one is gone", () => {
  test("the lower one holds once it is sure of that", () => {
    expect([RECEIVED_MS - 1, RECEIVED_MS].map((ms) => holds("a", [down("b", ms)]))).toEqual([false, true]);
  });

  test("the other one waits until the lease is over", () => {
    expect([LEASE_MS - 1, LEASE_MS].map((ms) => holds("b", [down("a", ms)]))).toEqual([false, true]);
  });

  test("a brain that has just started waits as long as one that just lost it", () => {
    expect(holds("a", [down("b", NOW)], NOW - RECEIVED_MS + 1)).toBe(false);
  });
});

test("of three brains the lowest that is up holds", () => {
  expect(holds("b", [down("a", LEASE_MS), up("c")])).toBe(true);
  expect(holds("c", [down("a", LEASE_MS), up("b")])).toBe(false);
  expect(holds("b", [up("a"), down("c", 5000)])).toBe(false);
});
