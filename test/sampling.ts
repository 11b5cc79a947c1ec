/**
 * What does detection do with sampled traffic (docs/sampling.md)? False alarms a year of a host below and at its
 * threshold, the time to detect an attack by its factor, and to end it, with the real detector on simulated samples.
 * SEED makes others, CONFIDENCE another setting, YEARS how long each host is watched for false alarms.
 */
import { configOf } from "./fixtures/config/parsed-config.ts";
import {
  alarmsPerYear,
  detectionTimes,
  endTimes,
  expectedAlarmsPerYear,
  learnedOverTrue,
} from "./fixtures/sampling-runs.ts";
import { textTable } from "./text-table.ts";

const seed = Number(process.env["SEED"] ?? 1);
const years = Number(process.env["YEARS"] ?? 1);
const confidence = Number(
  process.env["CONFIDENCE"] ??
    configOf("networks: [192.0.2.0/24]\nthresholds: {pps: 1, mbps: 1, flows_per_sec: 1}\n").detection.confidence,
);
const SAMPLES = [0.1, 1, 10, 100, 1000];
const IMIX = [64, 64, 64, 64, 64, 64, 64, 594, 594, 594, 594, 1518];

console.log(`confidence ${confidence}, window 1 s, tick 100 ms, SEED=${seed}, YEARS=${years}\n`);
const parts = (process.env["ONLY"] ?? "times,ends,baselines,alarms").split(",");
if (parts.includes("times")) printTimes();
if (parts.includes("ends")) printEnds();
if (parts.includes("baselines")) printBaselines();
if (parts.includes("alarms")) printAlarms();

function printTimes(): void {
  console.log("Time to detect, p50 / p99 of 400 attacks, by the attack's rate over the threshold");
  const rows = [100_000, 10_000, 1000].flatMap((thresholdPps) =>
    [100, 1000, 10_000].map((sampling) => {
      const expected = thresholdPps / sampling;
      const cells = [1.2, 2, 10].map((factor) =>
        timeText(detectionTimes({ expected, factor, confidence, runs: 400, seed })),
      );
      return [`${thresholdPps} pps`, `1:${sampling}`, String(expected), ...cells];
    }),
  );
  print([["threshold", "sampling", "samples at it", "1.2 x", "2 x", "10 x"], ...rows]);
}

function printEnds(): void {
  console.log("From the end of an attack of 5 times the threshold until it is seen to be over, hysteresis 120 s,");
  console.log("p50 / p99 of 200, by what the host receives afterwards; and ends an hour while an attack of 2 x lasts");
  const rows = SAMPLES.map((expected) => [
    String(expected),
    ...[0.3, 0.5, 0.8].map((load) => timeText(endTimes({ expected, load, confidence, runs: 200, seed }).times)),
    endTimes({ expected, load: 2, confidence, runs: 4, seed }).endsPerHour.toPrecision(2),
  ]);
  print([["samples at it", "0.3 x", "0.5 x", "0.8 x", "ends/h at 2 x"], ...rows]);
}

function printAlarms(): void {
  console.log(
    "False alarms a year of one host, by its rate over the threshold (in brackets: one window alone, computed)",
  );
  const loads = [1, 0.9, 0.8, 0.5];
  const rows = SAMPLES.map((expected) => [
    String(expected),
    ...loads.map((load) => {
      const seen = alarmsPerYear({ expected, load, confidence, years, seed });
      return `${number(seen)} (${number(expectedAlarmsPerYear({ expected, load, confidence }))})`;
    }),
  ]);
  const bytes = loads.map((load) =>
    number(alarmsPerYear({ expected: 100, load, confidence, years, seed, sizes: IMIX })),
  );
  print([["samples at it", ...loads.map((load) => `${load} x`)], ...rows, ["100, megabits", ...bytes]]);
}

function printBaselines(): void {
  console.log("Normal rate that a baseline of factor 3 learns, over the true one, by samples in a window");
  const samples = [0.1, 0.3, 1, 3, 10, 100];
  const learned = samples.map((each) => learnedOverTrue({ samples: each, factor: 3, seed }).toFixed(2));
  print([
    ["samples", ...samples.map(String)],
    ["learned", ...learned],
  ]);
}

function timeText(ms: readonly (number | null)[]): string {
  const sorted = ms.map((time) => time ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
  const text = (time: number) => (Number.isFinite(time) ? `${(time / 1000).toFixed(1)} s` : "> 1 h");
  return `${text(at(0.5))} / ${text(at(0.99))}`;
}

function number(value: number): string {
  return value === 0 ? "0" : value >= 10 ? value.toFixed(0) : value >= 0.01 ? value.toPrecision(2) : "<0.01";
}

function print(rows: readonly (readonly string[])[]): void {
  console.log(`${textTable(rows, () => true)}\n`);
}
