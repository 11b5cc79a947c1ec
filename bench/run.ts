/**
 * `make bench`: runs the benches one after the other, and writes a table and build/bench/results.json. With names as
 * arguments only these run (`detection`: all whose names start with it); --quick makes a short trial run, if a bench
 * supports it. Each row is met, SHORT, or not measured (verdict.ts); only a failing bench makes it fail.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { announce } from "./announce.ts";
import { measuredQuietly, type Row } from "./attempts.ts";
import { captureRate } from "./capture-rate.ts";
import { dashboardAttack, dashboardFirst, dashboardFrames, dashboardHeap } from "./dashboard.ts";
import { dataplane } from "./dataplane.ts";
import { detectionCost } from "./detection/cost.ts";
import { detectionLatency } from "./detection/latency.ts";
import { manyAttacks } from "./detection/many-attacks.ts";
import { detectionUnderLoad } from "./detection/under-load.ts";
import { edgeDelivery, edgeMemory, edgeReports, edgeReportsFull } from "./edge.ts";
import { forward } from "./forward.ts";
import { growth } from "./growth.ts";
import { holds } from "./holds.ts";
import { hostsRead } from "./hosts-read.ts";
import { inlineRate } from "./inline-rate.ts";
import { BenchGroup, MachineLoad } from "./machine-load.ts";
import type { Bench } from "./measurement.ts";
import { packetStages } from "./packet-stages.ts";
import { packetTimes } from "./packet-times.ts";
import { parseAndCount } from "./parse-and-count.ts";
import { prefixSets } from "./prefix-sets.ts";
import { programs } from "./programs.ts";
import { reload } from "./reload.ts";
import { loadText, table } from "./report.ts";
import { requestRate } from "./request-rate.ts";
import { scrub } from "./scrub.ts";
import { scrubFirstRequest } from "./scrub-first-request.ts";
import { scrubMemory } from "./scrub-memory.ts";
import { telemetryBurst } from "./telemetry/burst.ts";
import { telemetryRate } from "./telemetry/rate.ts";
import { telemetryReaction } from "./telemetry/reaction.ts";
import { tick } from "./tick.ts";

const BENCHES: Readonly<Record<string, Bench>> = {
  "capture-rate": captureRate,
  "inline-rate": inlineRate,
  dataplane,
  scrub,
  "scrub-first-request": scrubFirstRequest,
  "scrub-memory": scrubMemory,
  forward,
  "packet-times": packetTimes,
  "prefix-sets": prefixSets,
  programs,
  "parse-and-count": parseAndCount,
  "detection-latency": detectionLatency,
  "detection-cost": detectionCost,
  "detection-under-load": detectionUnderLoad,
  "detection-many-attacks": manyAttacks,
  "telemetry-rate": telemetryRate,
  "telemetry-burst": telemetryBurst,
  "telemetry-reaction": telemetryReaction,
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
  "dashboard-frames": dashboardFrames,
  "dashboard-heap": dashboardHeap,
};
/** Run only if they are named. */
const ON_REQUEST: Readonly<Record<string, Bench>> = { growth, "packet-stages": packetStages };
const ALL = { ...BENCHES, ...ON_REQUEST };
const RESULTS = join(import.meta.dir, "../build/bench/results.json");

const QUICK = "--quick";

const wanted = Bun.argv.slice(2).filter((argument) => argument !== QUICK);
const isQuick = Bun.argv.includes(QUICK);
const unknown = wanted.filter((asked) => !Object.keys(ALL).some((name) => isNamed(name, asked)));
if (unknown.length > 0) {
  console.error(`no bench ${unknown.join(", ")}; there are: ${Object.keys(ALL).join(", ")}`);
  process.exit(2);
}

const rows: Row[] = [];
const skipped: string[] = [];
const failed: string[] = [];
const group = new BenchGroup();
process.on("exit", () => group.close());
const whole = new MachineLoad(group);
const startedMs = performance.now();
const watch = { load: () => new MachineLoad(group), nowMs: () => performance.now() };
for (const [name, bench] of Object.entries(wanted.length === 0 ? BENCHES : ALL)) {
  if (wanted.length > 0 && !wanted.some((asked) => isNamed(name, asked))) continue;
  console.log(`\n… ${name}: ${bench.question}`);
  try {
    const result = await measuredQuietly(bench, { isQuick }, watch);
    if ("skipped" in result) {
      skipped.push(`${name}: ${result.skipped}`);
    } else {
      rows.push(...result);
      console.log(table(result));
      for (const { details } of result) if (details !== undefined) console.log(`\n${details.join("\n")}`);
    }
  } catch (cause) {
    // The other benches still run.
    failed.push(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}
const load = whole.read();
const minutes = (performance.now() - startedMs) / 60_000;
console.log(`
${table(rows)}

Median (least–most, runs), all from one run of ${minutes.toFixed(0)} min on this machine${isQuick ? ": a trial" : ""}. CPU time that the
hypervisor gave to other machines, and that other processes used, in all: ${loadText(load)}.`);
for (const line of skipped) console.log(`skipped: ${line}`);
for (const line of failed) console.log(`FAILED: ${line}`);
mkdirSync(join(RESULTS, ".."), { recursive: true });
const machine = { cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length, load };
writeFileSync(RESULTS, `${JSON.stringify({ machine, isQuick, minutes, rows, skipped, failed }, null, 2)}\n`);
process.exit(failed.length === 0 ? 0 : 1);

function isNamed(name: string, asked: string): boolean {
  return name === asked || name.startsWith(`${asked}-`);
}
