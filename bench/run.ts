/**
 * `make bench`: runs all benches one after the other, and writes a table and build/bench/results.json. With names as
 * arguments only these run (`detection`: all whose names start with it); --quick makes a short trial run, if a bench
 * supports it. Missed targets are shown; only a failing bench makes it fail.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { StolenTime } from "../test/fixtures/stolen-time.ts";
import { announce } from "./announce.ts";
import { captureRate } from "./capture-rate.ts";
import { dashboardAttack, dashboardFirst, dashboardHeap } from "./dashboard.ts";
import { dataplane } from "./dataplane.ts";
import { detectionCost } from "./detection/cost.ts";
import { detectionLatency } from "./detection/latency.ts";
import { detectionUnderLoad } from "./detection/under-load.ts";
import { edgeDelivery, edgeMemory, edgeReports, edgeReportsFull } from "./edge.ts";
import { holds } from "./holds.ts";
import { hostsRead } from "./hosts-read.ts";
import { inlineRate } from "./inline-rate.ts";
import type { Bench, Figure, Measurement } from "./measurement.ts";
import { packetTimes } from "./packet-times.ts";
import { parseAndCount } from "./parse-and-count.ts";
import { programs } from "./programs.ts";
import { reload } from "./reload.ts";
import { requestRate } from "./request-rate.ts";
import { tick } from "./tick.ts";

const BENCHES: Readonly<Record<string, Bench>> = {
  "capture-rate": captureRate,
  "inline-rate": inlineRate,
  dataplane,
  "packet-times": packetTimes,
  programs,
  "parse-and-count": parseAndCount,
  "detection-latency": detectionLatency,
  "detection-cost": detectionCost,
  "detection-under-load": detectionUnderLoad,
  announce,
  tick,
  "hosts-read": hostsRead,
  holds,
  "request-rate": requestRate,
  reload,
  "edge-delivery": edgeDelivery,
  "edge-memory": edgeMemory,
  "edge-reports": edgeReports,
  "edge-reports-full": edgeReportsFull,
  "dashboard-first": dashboardFirst,
  "dashboard-attack": dashboardAttack,
  "dashboard-heap": dashboardHeap,
};
const RESULTS = join(import.meta.dir, "../build/bench/results.json");

const QUICK = "--quick";

const wanted = Bun.argv.slice(2).filter((argument) => argument !== QUICK);
const isQuick = Bun.argv.includes(QUICK);
const unknown = wanted.filter((asked) => !Object.keys(BENCHES).some((name) => isAsked(name, asked)));
if (unknown.length > 0) {
  console.error(`no bench ${unknown.join(", ")}; there are: ${Object.keys(BENCHES).join(", ")}`);
  process.exit(2);
}

const measurements: Measurement[] = [];
const skipped: string[] = [];
const failed: string[] = [];
const stolen = new StolenTime();
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length > 0 && !wanted.some((asked) => isAsked(name, asked))) continue;
  console.log(`\n… ${name}: ${bench.question}`);
  const stolenMeanwhile = new StolenTime();
  try {
    const result = await bench.run({ isQuick });
    if ("skipped" in result) {
      skipped.push(`${name}: ${result.skipped}`);
    } else {
      measurements.push(...result);
      console.log(table(result));
      for (const { details } of result) if (details !== undefined) console.log(`\n${details.join("\n")}`);
      console.log(`\n${stolenText(stolenMeanwhile)}`);
    }
  } catch (cause) {
    // The other benches still run.
    failed.push(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}
console.log(
  `\n${table(measurements)}\n\nMedian (least–most, runs), all from one run on this machine${isQuick ? ": a trial" : ""}. ${stolenText(stolen)}`,
);
for (const line of skipped) console.log(`skipped: ${line}`);
for (const line of failed) console.log(`FAILED: ${line}`);
mkdirSync(join(RESULTS, ".."), { recursive: true });
const machine = { cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length, stolen: stolen.share };
writeFileSync(RESULTS, `${JSON.stringify({ machine, isQuick, measurements, skipped, failed }, null, 2)}\n`);
process.exit(failed.length === 0 ? 0 : 1);

function stolenText({ share }: StolenTime): string {
  return `Of the CPU time wanted, the hypervisor gave ${(100 * share).toFixed(0)} % to other machines.`;
}

function isAsked(name: string, asked: string): boolean {
  return name === asked || name.startsWith(`${asked}-`);
}

function table(rows: readonly Measurement[]): string {
  const lines = rows.map(({ question, unit, ours, rival, target, isMet }) => {
    const ratio = rival === null ? "" : `${number(ours.median / rival.median)} ×`;
    const verdict = target === "none set" ? "" : isMet ? "met" : "SHORT";
    return `| ${question} | ${unit} | ${cell(ours)} | ${rival === null ? "" : cell(rival)} | ${ratio} | ${target} | ${verdict} |`;
  });
  const head = "| Question | Unit | Ours | Rival | Ours / rival | Target | |\n|---|---|---|---|---|---|---|";
  return `${head}\n${lines.join("\n")}`;
}

function cell({ name, median, least, most, runs, tail }: Figure): string {
  if (tail !== undefined) {
    const { p90, p99 } = tail;
    return `**${number(median)}** (p90 ${number(p90)}, p99 ${number(p99)}, max ${number(most)}, ${runs}) ${name}`;
  }
  return `**${number(median)}** (${number(least)}–${number(most)}, ${runs}) ${name}`;
}

function number(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)} M`;
  if (value >= 1e4) return Math.round(value).toLocaleString("en-US");
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
