/**
 * How long does the kernel take to find the sets of a source among a million prefixes, compared with its own LPM trie?
 * Is a packet judged by half of the sets while all of them are exchanged under full traffic, and how long does that
 * take? Test runs in the kernel, without a device (native_xdp/set_times.cpp).
 */
import { buildRivals, SET_TIMES } from "./counting-process.ts";
import { type Bench, compared, figure, type Measurement, type RunOptions } from "./measurement.ts";

const RUNS = 3;
const ROUNDS = 8;
const SWAPS = 10;
const RATIO_MIN = 4;

/** Nanoseconds of a packet with each look-up, ms of an exchange, and packets that found one generation, or neither. */
interface Times {
  readonly nothing: number;
  readonly sets: number;
  readonly trie: number;
  readonly buildMs: number;
  readonly putMs: number;
  readonly first: number;
  readonly second: number;
  readonly neither: number;
}

export const prefixSets: Bench = {
  question: "named sets of a million prefixes: look-up and exchange",
  async run({ isQuick }: RunOptions) {
    if (process.getuid?.() !== 0) return { skipped: "needs root to load an XDP program" };
    buildRivals();
    return measurements(Array.from({ length: isQuick ? 1 : RUNS }, timesOfRun));
  },
};

function timesOfRun(): Times {
  const run = Bun.spawnSync([SET_TIMES, String(ROUNDS), String(SWAPS)], { stdout: "pipe", stderr: "pipe" });
  if (!run.success) throw new Error(run.stderr.toString());
  return JSON.parse(run.stdout.toString()) as Times;
}

function measurements(runs: readonly Times[]): Measurement[] {
  const ours = "Floodwall";
  const perSecond = (ns: (times: Times) => number) => runs.map((times) => 1e9 / (ns(times) - times.nothing));
  const texts = runs.map(
    ({ nothing, sets, trie }) =>
      `ns/packet: ${nothing.toFixed(0)} with no look-up, ${sets.toFixed(0)} named sets, ${trie.toFixed(0)} LPM trie`,
  );
  const row = (question: string, unit: string, values: readonly number[]): Measurement => ({
    question,
    unit,
    ours: figure(ours, values),
    rival: null,
    target: "none set",
    isMet: true,
  });
  const neither = runs.map((times) => times.neither);
  const judged = runs.map(({ first, second }) => `${first} packets by one generation, ${second} by the other`);
  return [
    compared({
      question: "random sources looked up among 1,048,576 IPv4 prefixes",
      unit: "look-ups/s",
      ours: figure(
        ours,
        perSecond(({ sets }) => sets),
      ),
      rival: figure(
        "LPM trie of the kernel",
        perSecond(({ trie }) => trie),
      ),
      ratioMin: RATIO_MIN,
      details: texts,
    }),
    {
      ...row("packets judged by neither generation while sets are exchanged", "packets", neither),
      target: "0",
      isMet: neither.every((packets) => packets === 0),
      isExact: true,
      details: judged,
    },
    row(
      "1,048,576 prefixes made ready aside",
      "ms",
      runs.map(({ buildMs }) => buildMs),
    ),
    row(
      "and put in force under full traffic",
      "ms",
      runs.map(({ putMs }) => putMs),
    ),
  ];
}
