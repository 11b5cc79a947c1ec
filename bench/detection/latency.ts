/**
 * How long does it take from the first packet of a flood until the reaction? At 10, 2 and 1.2 times the threshold, with
 * another victim for each flood. Compared with FastNetMon with its default settings, on the same packets, in turn.
 */
import { namespacesUnavailable } from "../../test/lab/namespaces.ts";
import { type Sent, THRESHOLD_PPS } from "../../test/lab/world.ts";
import { fastNetMonUnavailable } from "../fastnetmon.ts";
import { type Bench, distribution, type Measurement, percentile } from "../measurement.ts";
import { histogram } from "./histogram.ts";
import { type Attacked, type Level, openFastNetMon, openFloodwall, type Stack } from "./stacks.ts";

/** Target: what the window needs, and 50 ms. */
const LEVELS: readonly Level[] = [
  { times: 10, targetMs: 150, floodSeconds: 1 },
  { times: 2, targetMs: 550, floodSeconds: 1.5 },
  { times: 1.2, targetMs: 883, floodSeconds: 2.5 },
];
/** Floods on one stack in a row, at each level; then it is the other's turn. Only one of them runs at a time. */
const LENGTHS = { whole: { blocks: 4, attacks: 5 }, quick: { blocks: 1, attacks: 2 } };
/** Slower reactions count as this value, and are listed. */
const BOUND_MS = 15_000;
/** Both work periodically, so floods start at a random moment of the period; the longer one is a second. */
const PAUSE_MS = 1000;
const SENT_SHARE_MIN = 0.95;
/** A sender that was later than this with a packet, until the flood was beyond the threshold, did not keep its rate. */
const SENT_LATE_MAX_MS = 10;
/** For all levels together; listed with the figures, since a flood that was left out could have been a slow one. */
const REPEATS_MAX = 25;
const VICTIMS = { prefix: "203.0.113", from: 60, to: 239 };

/** Milliseconds by level; reactions that were too late are BOUND_MS. */
interface Latencies {
  readonly byLevel: number[][];
  /** The legs of Floodwall until then, for each flood that it reacted to. */
  readonly legsByLevel: Leg[][][];
  repeats: number;
}

/** A part of the time from the first packet to the route. */
interface Leg {
  readonly name: string;
  readonly ms: number;
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
  return { byLevel: LEVELS.map(() => []), legsByLevel: LEVELS.map(() => []), repeats: 0 };
}

function* freshVictims(): Generator<string, never> {
  for (let host = VICTIMS.from; host <= VICTIMS.to; host++) yield `${VICTIMS.prefix}.${host}`;
  throw new Error("all victims are used up");
}

async function attackAll(stack: Stack, attacks: number, victims: Generator<string, never>, into: Latencies) {
  try {
    for (let i = 0; i < attacks; i++) {
      for (const [index, level] of LEVELS.entries()) {
        const { ms, legs } = await attackOnce(stack, level, victims, into);
        into.byLevel[index]?.push(ms);
        if (legs.length > 0) into.legsByLevel[index]?.push(legs);
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
): Promise<{ readonly ms: number; readonly legs: Leg[] }> {
  await Bun.sleep(Math.random() * PAUSE_MS);
  const attacked = await stack.attack(victims.next().value, level, BOUND_MS);
  if (!isSentWhole(attacked.sent, level) && into.repeats < REPEATS_MAX) {
    into.repeats++;
    return attackOnce(stack, level, victims, into);
  }
  const { sent, reactedAtMs } = attacked;
  if (reactedAtMs === null) return { ms: BOUND_MS, legs: [] };
  const ms = reactedAtMs - sent.first_packet_wall_ns / 1e6;
  return { ms: Math.min(ms, BOUND_MS), legs: legsOf(attacked, ms) };
}

/**
 * Judged by the sender alone, whatever the reaction was: another process may have delayed it. What it catches up on is
 * another flood: a short and high one.
 */
function isSentWhole(sent: Sent, { times }: Level): boolean {
  const wanted = (times * THRESHOLD_PPS * sent.duration_ns) / 1e9;
  if (sent.packets - sent.device_drops < SENT_SHARE_MIN * wanted) return false;
  return sent.late_ns / 1e6 <= SENT_LATE_MAX_MS;
}

/** The last leg is negative if BIRD had the route before gobgpd's answer was there. */
function legsOf({ sent, steps }: Attacked, ms: number): Leg[] {
  if (steps === null) return [];
  const { detectedAtMs, toWantedMs, toAnnouncedMs } = steps;
  const detectedMs = detectedAtMs - sent.first_packet_wall_ns / 1e6;
  const beyondMs = sent.marked_packet_ns / 1e6;
  return [
    { name: "first packet to the first beyond threshold × window", ms: beyondMs },
    { name: "to the judgement that it is an attack", ms: detectedMs - beyondMs },
    { name: "ban made, route handed to the announcer", ms: toWantedMs },
    { name: "AddPath sent and answered, in the neighbor's out-table", ms: toAnnouncedMs },
    { name: "seen in BIRD", ms: ms - detectedMs - toWantedMs - toAnnouncedMs },
  ];
}

function legTable(floods: readonly Leg[][]): string[] {
  const names = floods[0]?.map(({ name }) => name) ?? [];
  return names.map((name, leg) => {
    const values = floods.map((legs) => legs[leg]?.ms ?? Number.NaN);
    const cells = [0.5, 0.99, 1].map((share) => percentile(values, share).toFixed(1));
    return `| ${name} | ${cells.join(" | ")} |`;
  });
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
      "",
      "| Floodwall's part of it, ms | p50 | p99 | max |",
      "|---|---|---|---|",
      ...legTable(ours.legsByLevel[index] ?? []),
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
