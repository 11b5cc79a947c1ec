import { expect, test } from "bun:test";
import type { ExporterWire } from "../../src/http/wire/telemetry.ts";
import { EXPORTER_STATES } from "../../src/telemetry/exporters.ts";
import { ageOf, exporterOrder, exporterWord, leftOutText, recordRate, samplingText, skewText } from "./telemetry.ts";

const exporter = (changes: Partial<ExporterWire> = {}): ExporterWire => ({
  ...{ address: "192.0.2.1", state: "ok", faults: [] },
  ...changes,
});
const sampler = (rate?: number) => ({ domain: 0, sampler: 0, origin: "options", ...(rate !== undefined && { rate }) });

test("every state has its word, and faults come before those without one", () => {
  expect(EXPORTER_STATES.map((state) => exporterWord(state).text)).not.toContain(undefined as unknown as string);
  const ordered = EXPORTER_STATES.toSorted(
    (a, b) => exporterOrder(exporter({ state: a })) - exporterOrder(exporter({ state: b })),
  );
  expect(ordered[0]).toBe("silent");
  expect(ordered.slice(-3)).toEqual(["ok", "standby", "waiting"]);
});

test("a sampling rate is one, a range, or not known as soon as one is not", () => {
  expect(samplingText(exporter())).toBe("–");
  expect(samplingText(exporter({ sampling: [sampler(1000), sampler(1000)] }))).toBe("1:1000");
  expect(samplingText(exporter({ sampling: [sampler(1000), sampler(100)] }))).toBe("1:100 to 1:1000");
  expect(samplingText(exporter({ sampling: [sampler(1000), sampler()] }))).toBe("not known");
});

test("clocks, rates and what is left out", () => {
  expect([undefined, 0, 45, -2000, 125_000].map(skewText)).toEqual([
    ...["it does not say its time", "as here", "45 ms ahead", "2 s behind", "2 min 5 s ahead"],
  ]);
  expect([0, 96, 12_345].map(recordRate)).toEqual(["0 /s", "96 /s", "12.3 k/s"]);
  expect(leftOutText(exporter({ left_out_records: { direction: 2400, late: 3 } }))).toBe(
    "2\u202f400 for their direction, 3 since they are late",
  );
  expect(leftOutText(exporter())).toBe("");
});

test("the age is that of the reading", () => {
  const read_at = "2026-01-02T03:04:05.000Z";
  const whole = { enabled: true, listeners: [], exporters: [] };
  expect(ageOf({ ...whole, read_at }, Date.parse(read_at) + 31_000)).toBe(31);
  expect(ageOf(whole, 0)).toBeNull();
});
