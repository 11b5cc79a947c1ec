import { expect, test } from "bun:test";
import { exporterEvent, scrubNodeEvent, sessionEvent } from "../../test/fixtures/notify/notify.ts";
import { DIFFERS_MS } from "../cluster/cluster-faults.ts";
import { FAULT_TIMES } from "../telemetry/exporter-faults.ts";
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

test("a fault that must last to be found has the time for it, and that of a part that was not seen is not over", () => {
  const event = exporterEvent();
  const of = (address: string, fault: string) => exporterEvent({ exporter: { ...event.exporter, address, fault } });
  const cluster = { brain: "b", fault: "configuration", found: "it differs in bgp", remedy: "make them the same" };
  const configuration = { ...scrubNodeEvent(), kind: "cluster_fault", cluster } as const;
  const unseen = new Set(["192.0.2.2"]);
  const restored = new RestoredFaults(
    [of("192.0.2.1", "no_records"), of("192.0.2.2", "silent"), configuration],
    (each) => "exporter" in each && unseen.has(each.exporter.address),
  );
  const over = (ms: number) => restored.over(ms).map(({ kind }) => kind);
  expect([over(0), over(FOUND_AGAIN_MS)]).toEqual([[], []]);
  expect(over(DIFFERS_MS + 60_000)).toEqual(["cluster_fault_over"]);
  expect(over(FAULT_TIMES.no_records.beginMs)).toEqual([]);
  expect(over(FAULT_TIMES.no_records.beginMs + 60_000)).toEqual(["exporter_fault_over"]);
  expect(over(86_400_000)).toEqual([]);
  unseen.clear();
  expect([over(90_000_000), over(90_000_000 + FOUND_AGAIN_MS)]).toEqual([[], ["exporter_fault_over"]]);
});

test("one whose end comes first is over by that, and its next begin is new", () => {
  const restored = new RestoredFaults([scrubNodeEvent()]);
  expect(restored.isKnown(scrubNodeEvent({ kind: "scrub_node_fault_over" }))).toBe(false);
  expect(restored.isKnown(scrubNodeEvent())).toBe(false);
  expect([restored.over(0), restored.over(FOUND_AGAIN_MS)]).toEqual([[], []]);
});
