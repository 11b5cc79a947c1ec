import { expect, test } from "bun:test";
import { exporterReading } from "../../test/fixtures/telemetry/exporters.ts";
import { beliefsOf } from "./beliefs.ts";

const textOf = (changes: Parameters<typeof exporterReading>[0]) =>
  Object.fromEntries(beliefsOf(exporterReading(changes)).map(({ about, text }) => [about, text]));

test("an exporter without anything peculiar", () => {
  expect(textOf({})).toEqual({
    make: "no sign of a vendor; sends netflow9",
    rate: "1:1000 by its options",
    counters: "what each flow had since its last record",
    times: "by its uptime; its clock is 0 s off",
    interfaces: "1, of 1 the name is known",
    "left out": "nothing",
  });
});

test("each belief says what is peculiar", () => {
  const belief = textOf({
    ...{ vendors: [25_506, 4711], traits: ["totals", "wall_times", "tunnels"], reportIntervalMs: 2000 },
    ...{ samplings: [], unknownRateRecords: 3, impossibleRates: 2, untrackedFlows: 5, countedLate: 14 },
    ...{ leftOut: { direction: 2, late: 0 }, notForUs: { vendor_sample: 9 }, events: 1, clockSkewMs: null },
  });
  expect(belief).toMatchObject({
    make: "by its elements H3C, enterprise 4711; sends netflow9",
    rate: "not said; 3 records without one count as 1:1; 2 that cannot be are not taken",
    counters: "totals of each flow, counted by what they grow; packets within tunnels too; 5 flows found no place",
    "left out": "9 vendor sample, 2 direction, 1 events",
  });
  expect(belief["times"]).toContain("starts stay, flows are reported every 2 s; off by more than five minutes");
});
