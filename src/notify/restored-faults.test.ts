import { expect, test } from "bun:test";
import { exporterEvent, scrubNodeEvent, sessionEvent } from "../../test/fixtures/notify/notify.ts";
import { FOUND_AGAIN_MS, RestoredFaults } from "./restored-faults.ts";

test("a fault that is found again is not notified again, its end is, and one that is not found is over after a while", () => {
  const restored = new RestoredFaults([exporterEvent(), scrubNodeEvent(), sessionEvent()]);
  expect(restored.over(1000)).toEqual([]);
  expect(restored.isKnown(exporterEvent())).toBe(true);
  expect(restored.isKnown(exporterEvent({ kind: "exporter_fault_over" }))).toBe(false);
  expect(restored.isKnown(sessionEvent())).toBe(false);
  expect(restored.over(1000 + FOUND_AGAIN_MS - 1)).toEqual([]);
  expect(restored.over(1000 + FOUND_AGAIN_MS)).toEqual([
    { kind: "scrub_node_fault_over", scrubNode: { name: "s1", found: "" } },
  ]);
  expect(restored.over(1000 + 2 * FOUND_AGAIN_MS)).toEqual([]);
});

test("one whose end comes first is over by that, and its next begin is new", () => {
  const restored = new RestoredFaults([scrubNodeEvent()]);
  expect(restored.isKnown(scrubNodeEvent({ kind: "scrub_node_fault_over" }))).toBe(false);
  expect(restored.isKnown(scrubNodeEvent())).toBe(false);
  expect([restored.over(0), restored.over(FOUND_AGAIN_MS)]).toEqual([[], []]);
});
