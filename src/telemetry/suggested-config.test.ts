import { expect, test } from "bun:test";
import { configWith } from "../../test/fixtures/config/parsed-config.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { exporterReading, interfaceReading, listenerReading } from "../../test/fixtures/telemetry/exporters.ts";
import { durationText } from "./duration-text.ts";
import { suggestedConfig } from "./suggested-config.ts";
import { exporterLines, listenerLines } from "./understood-text.ts";

const interfaces = [
  interfaceReading({ index: 0, name: null }),
  interfaceReading({ index: 5, name: "xe-0/0/0\n# evil: yes", bytesIn: 7 }),
  interfaceReading({ index: 17 }),
];
const readings = [
  exporterReading({ interfaces }),
  exporterReading({ listen: "0.0.0.0:6343", protocols: ["sflow5"] }),
  exporterReading({ address: address("2001:db8::1"), unknownRateRecords: 3, interfaces: [] }),
  exporterReading({ address: address("192.0.2.3"), leftOut: { direction: 9 }, counted: 0, interfaces: [] }),
  exporterReading({ address: address("192.0.2.4"), leftOut: { direction: 9 }, interfaces: [] }),
];

test("the suggested lines load, and name each port and address once", () => {
  const lines = suggestedConfig(readings);
  const { telemetry } = configWith(lines.join("\n"));
  expect(telemetry?.listen.map(({ address: at, port }) => `${at} ${port}`)).toEqual([":: 2055", "0.0.0.0 6343"]);
  expect(telemetry?.exporters.map(({ name, direction }) => `${name} ${direction}`)).toEqual([
    "exporter-192.0.2.1 ingress",
    "exporter-2001-db8--1 ingress",
    "exporter-192.0.2.3 egress",
    "exporter-192.0.2.4 ingress",
  ]);
});

test("what only the operator knows is a comment, the busiest interface first, whatever its name has in it", () => {
  expect(suggestedConfig(readings)).toContain("      # 17 et-0/0/1, 5 xe-0/0/0?# evil: yes");
  expect(suggestedConfig(readings)).toContain("      # sampling_rate: 1000");
  expect(suggestedConfig([])).toEqual([]);
});

test("the lines that were commented out load too", () => {
  const text = suggestedConfig(readings)
    .map((line) => line.replace(/# (sampling_rate|interfaces)/, "$1"))
    .join("\n");
  const exporters = configWith(text).telemetry?.exporters;
  expect(exporters?.map(({ external, samplingRate }) => [external, samplingRate])).toEqual([
    [["17"], null],
    [null, 1000],
    [null, null],
    [null, null],
  ]);
});

test.each([
  [0, "0 s"],
  [1540, "1.5 s"],
  [119_000, "119 s"],
  [120_000, "2 min"],
  [7_200_000, "2 h"],
  [288_082_781_000, "3,334 days"],
])("%d ms are %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test("the text says of an exporter what is understood, and what is not", () => {
  const reading = exporterReading({
    ...{ protocols: ["netflow9"], keptSets: 3, recoveredSets: 2, lostRecords: 24, clockSkewMs: -1500, lateRecords: 1 },
    undecodedByKind: { field_length: 2, template_unknown: 1 },
    undecoded: [{ kind: "field_length", reason: "template 256: field 8 has 3 bytes", count: 2 }],
    unknownRateRecords: 5,
  });
  expect(exporterLines(reading, 60)).toEqual([
    "192.0.2.1 sends NetFlow 9 to [::]:2055: 100 datagrams, 2,400 records, about 40,000 packets/s, 160 Mbit/s",
    "  taken for       make: no sign of a vendor; sends netflow9",
    "                  rate: 1:1000 by its options; 5 records without one count as 1:1",
    "                  counters: what each flow had since its last record",
    "                  times: by its uptime; its clock is 1.5 s off",
    "                  interfaces: 1, of 1 the name is known",
    "                  left out: nothing",
    "  sampling        one packet in 1,000, as its options say (domain 0, sampler 1)",
    "                  not known of 5 records: write sampling_rate, 1 if it does not sample",
    "  templates       2 known, 2 sets of 3 that came before theirs understood later, 1 set given up: let the router send templates once a minute",
    "  not understood  template 256: field 8 has 3 bytes: 2",
    "  direction       ingress, or not said",
    "  interfaces      17 et-0/0/1: in 40,000 packets/s, 160 Mbit/s; out 0 packets/s, 0 Mbit/s",
    "  clock           1.5 s behind this machine, 1 record late",
    "  loss            24 records missing",
  ]);
  expect(listenerLines(listenerReading())).toEqual([
    "[::]:2055 lost 3 datagrams, since its receive buffer was full",
    "[::]:2055 refused 7 datagrams",
  ]);
});
