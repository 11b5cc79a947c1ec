/**
 * How many nanoseconds does a packet take in our XDP programs, and what do tables larger than the caches add? Test runs
 * in the kernel, without a device, compared with a bare drop (native_xdp/packet_times.cpp). Short runs of all cases in
 * turn, of which the fastest counts: also on a machine that has other work.
 */
import { buildRivals, PACKET_TIMES } from "./counting-process.ts";
import { type Bench, figure, type Measurement, type RunOptions } from "./measurement.ts";

const RUNS = 3;
const ROUNDS = 4;
const BARE = "bare drop";

export const packetTimes: Bench = {
  question: "nanoseconds that a packet takes in the filter and in the inline counter",
  async run({ isQuick }: RunOptions) {
    if (process.getuid?.() !== 0) return { skipped: "needs root to load an XDP program" };
    buildRivals();
    const runs = Array.from({ length: isQuick ? 1 : RUNS }, timesOfRun);
    return measurements(runs);
  },
};

type Times = Readonly<Record<string, number>>;

function timesOfRun(): Times {
  const run = Bun.spawnSync([PACKET_TIMES, String(ROUNDS)], { stdout: "pipe", stderr: "pipe" });
  if (!run.success) throw new Error(run.stderr.toString());
  return JSON.parse(run.stdout.toString()) as Times;
}

function measurements(runs: readonly Times[]): Measurement[] {
  const bare = figure(BARE, valuesOf(runs, BARE));
  const names = Object.keys(runs[0] ?? {}).filter((name) => name !== BARE);
  return names.map((name) => ({
    question: name,
    unit: "ns/packet",
    ours: figure("Floodwall", valuesOf(runs, name)),
    rival: bare,
    target: "none set",
    isMet: true,
  }));
}

function valuesOf(runs: readonly Times[], name: string): number[] {
  return runs.map((run) => run[name]).filter((value) => value !== undefined);
}
