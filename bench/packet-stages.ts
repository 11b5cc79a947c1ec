/**
 * Where does the time of an AF_XDP worker go? Its stages by the time stamp counter at several rates, how often it
 * rests, and how many buffers it finds then. The measured addon is built for this (native_xdp/stage_clock.cpp).
 */
import { existsSync, readFileSync } from "node:fs";
import { TemporaryFolder } from "../test/fixtures/temporary-folder.ts";
import { namespacesUnavailable } from "../test/lab/namespaces.ts";
import { buildRivals, CountingProcess, STAGES_ADDON, workerCommand } from "./counting-process.ts";
import { type Bench, figure, type Measurement } from "./measurement.ts";
import { DEVICE, type FloodOptions, Wire } from "./wire.ts";

const RUNS = 3;
const NETWORK = "203.0.113.0/24";
const FLOOD: FloodOptions = { target: "203.0.113.0", hosts: 256, sources: 1000, seconds: 2 };
/** 0: as fast as it goes. */
const RATES_PPS = [0, 5_000_000, 1_000_000, 100_000];
const WORKER = { addon: STAGES_ADDON, kind: "af_xdp", device: DEVICE, network: NETWORK } as const;
/** Buffers of the RX ring. */
const BUFFERS = 8192;

/** In the order of stage_clock.cpp; times in ticks of the counter, but for nowNs. */
const FIELDS = [
  ...["nowTicks", "nowNs", "batches", "buffers", "receiveTicks", "countTicks", "kernelCalls", "kernelTicks"],
  ...["pauses", "waits"],
] as const;
const FOUND_BINS = 16;

interface Run {
  readonly countedPerSecond: number;
  /** For each packet. */
  readonly countNs: number;
  readonly ringNs: number;
  readonly kernelNs: number;
  readonly restNs: number;
  readonly perBatch: number;
  readonly restsPerSecond: number;
  readonly kernelCallsPerSecond: number;
  /** How often a worker found a number of buffers from one rest to the next, by the number's binary logarithm. */
  readonly found: readonly number[];
}

export const packetStages: Bench = {
  question: "where the CPU time of an AF_XDP worker goes, by rate",
  async run({ isQuick }) {
    const unavailable = namespacesUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRivals();
    if (!existsSync(STAGES_ADDON)) return { skipped: "only x86 has the time stamp counter" };
    const rows: Measurement[] = [];
    using wire = new Wire();
    for (const pps of RATES_PPS) rows.push(measurement(pps, await measure(wire, pps, isQuick ? 1 : RUNS)));
    return rows;
  },
};

function measurement(pps: number, runs: readonly Run[]): Measurement {
  const rate = pps === 0 ? "as fast as the source sends" : `${(pps / 1e6).toString()} Mpps`;
  const total = runs.map(({ countNs, ringNs, kernelNs, restNs }) => countNs + ringNs + kernelNs + restNs);
  return {
    question: `AF_XDP worker's CPU time for a packet, ${rate}`,
    unit: "ns",
    ours: figure("Floodwall", total),
    rival: null,
    ...{ target: "none set", isMet: true, details: details(rate, runs) },
  };
}

function details(rate: string, runs: readonly Run[]): string[] {
  const median = (key: Exclude<keyof Run, "found">) =>
    figure(
      key,
      runs.map((run) => run[key]),
    ).median;
  const ns = (key: "countNs" | "ringNs" | "kernelNs" | "restNs") => `${median(key).toFixed(1)} ns`;
  const stages = `parse and count ${ns("countNs")}, rings ${ns("ringNs")}, calls that wake the kernel ${ns("kernelNs")}`;
  const often = `${median("restsPerSecond").toFixed(0)} rests and ${median("kernelCallsPerSecond").toFixed(0)} calls a second`;
  const counted = `${(median("countedPerSecond") / 1e6).toFixed(2)} Mpps, ${median("perBatch").toFixed(1)} buffers a batch`;
  return [
    `${rate}: ${stages}, rests and the rest ${ns("restNs")}; ${often}; ${counted}`,
    `buffers found from one rest to the next: ${foundText(runs)}`,
  ];
}

function foundText(runs: readonly Run[]): string {
  const sums = Array.from({ length: FOUND_BINS }, (_, bin) =>
    runs.reduce((sum, { found }) => sum + (found[bin] ?? 0), 0),
  );
  const all = sums.reduce((sum, times) => sum + times, 0);
  return sums
    .map((times, bin) => ({ times, from: 2 ** bin }))
    .filter(({ times }) => times > 0)
    .map(({ times, from }) => `${from}${from >= BUFFERS ? " and more" : ""}: ${((100 * times) / all).toFixed(1)} %`)
    .join(", ");
}

async function measure(wire: Wire, pps: number, count: number): Promise<Run[]> {
  using directory = new TemporaryFolder("bench-stages");
  const runs: Run[] = [];
  for (let run = 0; run < count; run++) runs.push(await runOnce(wire, pps, directory.at(`run-${run}`)));
  return runs;
}

async function runOnce(wire: Wire, pps: number, path: string): Promise<Run> {
  const worker = await CountingProcess.start(wire.box, ["env", `FLOODWALL_STAGES=${path}`, ...workerCommand(WORKER)]);
  // The first packets of a host allocate its row.
  const first = await wire.flood({ ...FLOOD, seconds: 0.2, pps: 100_000 });
  const [before, beforeNs] = [readStages(path), worker.workerNs()];
  const flood = await wire.flood({ ...FLOOD, pps });
  const [after, afterNs] = [readStages(path), worker.workerNs()];
  await worker.end(first.arrived + flood.arrived);
  const of = (name: (typeof FIELDS)[number]) => Number((after.get(name) ?? 0n) - (before.get(name) ?? 0n));
  const buffers = of("buffers");
  const nsPerTick = of("nowNs") / of("nowTicks");
  const perPacket = (ticks: number) => (ticks * nsPerTick) / buffers;
  return {
    countedPerSecond: buffers / flood.seconds,
    countNs: perPacket(of("countTicks")),
    ringNs: perPacket(of("receiveTicks") - of("countTicks") - of("kernelTicks")),
    kernelNs: perPacket(of("kernelTicks")),
    restNs: (afterNs - beforeNs) / buffers - perPacket(of("receiveTicks")),
    perBatch: buffers / of("batches"),
    restsPerSecond: (of("pauses") + of("waits")) / flood.seconds,
    kernelCallsPerSecond: of("kernelCalls") / flood.seconds,
    found: after.found.map((times, bin) => times - (before.found[bin] ?? 0)),
  };
}

interface Stages {
  get(name: (typeof FIELDS)[number]): bigint | undefined;
  readonly found: readonly number[];
}

function readStages(path: string): Stages {
  const words = new BigUint64Array(new Uint8Array(readFileSync(path)).buffer);
  const found = Array.from(words.subarray(FIELDS.length, FIELDS.length + FOUND_BINS), Number);
  return { get: (name) => words[FIELDS.indexOf(name)], found };
}
