/**
 * How long does it take from the first packet of a flood until the reaction? At 10, 2 and 1.2 times the threshold, with
 * another victim for each flood. Compared with FastNetMon with its default settings, on the same packets, in turn.
 */
import { namespacesUnavailable } from "../../test/lab/namespaces.ts";
import { THRESHOLD_PPS } from "../../test/lab/world.ts";
import { fastNetMonUnavailable } from "../fastnetmon.ts";
import { type Bench, distribution, type Measurement, percentile } from "../measurement.ts";
import { histogram } from "./histogram.ts";
import { type Level, openFastNetMon, openFloodwall, type Stack } from "./stacks.ts";

const LEVELS: readonly Level[] = [
  { times: 10, targetMs: 250, floodSeconds: 1 },
  { times: 2, targetMs: 650, floodSeconds: 1.5 },
  { times: 1.2, targetMs: 1100, floodSeconds: 2.5 },
];
/** Floods on one stack in a row, at each level; then it is the other's turn. Only one of them runs at a time. */
const LENGTHS = { whole: { blocks: 4, attacks: 5 }, quick: { blocks: 1, attacks: 2 } };
/** Slower reactions count as this value, and are listed. */
const BOUND_MS = 15_000;
/** Both work periodically, so floods start at a random moment of the period; the longer one is a second. */
const PAUSE_MS = 1000;
const SENT_SHARE_MIN = 0.95;
/** For all levels together; listed with the figures, since a flood that was left out could have been a slow one. */
const REPEATS_MAX = 10;
const VICTIMS = { prefix: "203.0.113", from: 60, to: 239 };

/** Milliseconds by level; reactions that were too late are BOUND_MS. */
interface Latencies {
  readonly byLevel: number[][];
  repeats: number;
}

export const detectionLatency: Bench = {
  question: "first attack packet to route in the peer's table",
  async run({ isQuick }) {
    const unavailable = namespacesUnavailable() ?? fastNetMonUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    const { blocks, attacks } = isQuick ? LENGTHS.quick : LENGTHS.whole;
    const [ours, rival] = [noLatencies(), noLatencies()];
    const victims = freshVictims();
    for (let block = 0; block < blocks; block++) {
      await attackAll(await openFloodwall(), attacks, victims, ours);
      await attackAll(await openFastNetMon(), attacks, victims, rival);
    }
    return LEVELS.map((level, i) => measurement(level, i, ours, rival));
  },
};

function noLatencies(): Latencies {
  return { byLevel: LEVELS.map(() => []), repeats: 0 };
}

function* freshVictims(): Generator<string, never> {
  for (let host = VICTIMS.from; host <= VICTIMS.to; host++) yield `${VICTIMS.prefix}.${host}`;
  throw new Error("all victims are used up");
}

async function attackAll(stack: Stack, attacks: number, victims: Generator<string, never>, into: Latencies) {
  try {
    for (let i = 0; i < attacks; i++) {
      for (const [index, level] of LEVELS.entries()) {
        into.byLevel[index]?.push(await attackOnce(stack, level, victims, into));
      }
    }
  } finally {
    await stack.close();
  }
}

async function attackOnce(
  stack: Stack,
  level: Level,
  victims: Generator<string, never>,
  into: Latencies,
): Promise<number> {
  await Bun.sleep(Math.random() * PAUSE_MS);
  const { sent, reactedAtMs } = await stack.attack(victims.next().value, level, BOUND_MS);
  if (reactedAtMs !== null) return Math.min(reactedAtMs - sent.first_packet_wall_ns / 1e6, BOUND_MS);
  // A sender that was delayed by another process has not sent the whole flood; any other miss counts.
  const arrived = sent.packets - sent.device_drops;
  const wanted = (level.times * THRESHOLD_PPS * sent.duration_ns) / 1e9;
  if (arrived >= SENT_SHARE_MIN * wanted || into.repeats >= REPEATS_MAX) return BOUND_MS;
  into.repeats++;
  return attackOnce(stack, level, victims, into);
}

function measurement(level: Level, index: number, ours: Latencies, rival: Latencies): Measurement {
  const [mine, theirs] = [ours.byLevel[index] ?? [], rival.byLevel[index] ?? []];
  const notes = [late("Floodwall", mine), late("FastNetMon", theirs), repeated(ours, rival)].filter(Boolean);
  const p99 = percentile(mine, 0.99);
  return {
    question: [`flood of ${level.times} × the threshold: first packet to route in BIRD`, ...notes].join("; "),
    unit: "ms",
    ours: distribution("Floodwall, route in BIRD", mine),
    rival: distribution("FastNetMon, ban script", theirs),
    target: `p99 ≤ ${level.targetMs} ms`,
    isMet: p99 <= level.targetMs,
    details: [
      `Floods of ${level.times} × the threshold, by ms from the first packet:`,
      ...histogram([
        { name: "Floodwall", values: mine },
        { name: "FastNetMon", values: theirs },
      ]),
    ],
  };
}

function late(name: string, values: readonly number[]): string {
  const count = values.filter((ms) => ms >= BOUND_MS).length;
  return count === 0 ? "" : `${name} not within ${BOUND_MS / 1000} s: ${count} of ${values.length}`;
}

function repeated(ours: Latencies, rival: Latencies): string {
  const [mine, theirs] = [ours.repeats, rival.repeats];
  return mine + theirs === 0 ? "" : `floods that were not sent whole, left out: ${mine} ours, ${theirs} the rival's`;
}
