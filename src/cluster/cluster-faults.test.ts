import { expect, test } from "bun:test";
import { clusterFaults } from "./cluster-faults.ts";
import type { BrainView, ClusterView } from "./cluster-view.ts";

const NOON = 1_700_000_000_000;

function kindsOf(changes: Partial<BrainView>): string[] {
  const brain: BrainView = {
    ...{ name: "b", isUp: true, sinceMs: NOON, inStateMs: 3_600_000, silentMs: 0, skewMs: 0, version: "1" },
    ...{ unconfirmed: { orders: 0, oldestMs: 0 }, differs: [], problem: null, ...changes },
  };
  const view: ClusterView = {
    ...{ name: "a", isLeading: true, brains: [brain], orders: { in_force: 0, waiting: 0, ended: 0 }, waiting: [] },
    ...{ lacks: [], certificateUntilMs: null, fault: null },
  };
  return clusterFaults(view, () => 0, NOON).map(({ kind }) => kind);
}

test.each([
  ["after 15 s", 15_000, 0, ["split"]],
  ["not before", 14_999, 0, []],
  ["though the wall clock was set back since", 15_000, 3_600_000, ["split"]],
  ["and not sooner where it was set forward", 1000, -3_600_000, []],
])("a brain out of reach is a split %s", (_, inStateMs, aheadMs, kinds) => {
  expect(kindsOf({ isUp: false, inStateMs, sinceMs: NOON - inStateMs + aheadMs })).toEqual(kinds);
});

test("a brain that has come back is behind once it has had 30 s for the orders of before", () => {
  const unconfirmed = { orders: 3, oldestMs: 86_400_000 };
  expect(kindsOf({ unconfirmed, inStateMs: 29_999 })).toEqual([]);
  expect(kindsOf({ unconfirmed, inStateMs: 30_000 })).toEqual(["lag"]);
});
