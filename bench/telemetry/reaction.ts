/**
 * How long does it take from the first packet of a flood until the route is in the peer's table, when the service knows
 * the traffic by sFlow samples alone, of each packet, one in 100 and one in 1,000? Samples leave the exporter as they are
 * taken, at random. Compared with FastNetMon on the same samples, in turn, and with the time at which as many samples
 * had come that the threshold was passed with the stated confidence.
 */

import { CONFIDENCE_DEFAULT } from "../../src/config/sections/schema.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { type Namespace, Namespaces, namespacesUnavailable } from "../../test/lab/namespaces.ts";
import { FLOW_PORT, LabWorld, THRESHOLD_PPS } from "../../test/telemetry/lab-world.ts";
import { buildRecordSender, type SentRecords, sendRecords } from "../../test/telemetry/record-sender.ts";
import { FastNetMon, fastNetMonUnavailable } from "../fastnetmon.ts";
import { type Bench, distribution, type Measurement, percentile } from "../measurement.ts";

/**
 * The sampling rate, as one packet in this number, and the flood's packets a second. Not as many that the tick, and not the
 * arrival of samples, would be the limit.
 */
const LEVELS = [
  { sampling: 1, pps: 10_000, seconds: 1.5 },
  { sampling: 100, pps: 15_000, seconds: 3 },
  { sampling: 1000, pps: 50_000, seconds: 3 },
] as const;
type Level = (typeof LEVELS)[number];
const WINDOW_SECONDS = 1;
const NETWORK = "203.0.113.0/24";
const LENGTHS = { whole: 20, quick: 3 };
const BOUND_MS = 15_000;
const P99_RATIO_MAX = 1.2;
const PAUSE_MS = 1000;

interface Attacked {
  readonly sent: SentRecords;
  /** Wall time, ms; null: no reaction within the flood's time. */
  readonly reactedAtMs: number | null;
}

interface Stack {
  attack(victim: string, level: Level, seconds: number): Promise<Attacked>;
  close(): Promise<void>;
}

export const telemetryReaction: Bench = {
  question: "first packet of a flood to route, by sFlow samples",
  async run({ isQuick }) {
    const unavailable = namespacesUnavailable() ?? fastNetMonUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRecordSender();
    const attacks = isQuick ? LENGTHS.quick : LENGTHS.whole;
    const [ours, rival] = [LEVELS.map((): Reaction[] => []), LEVELS.map((): Reaction[] => [])];
    await attackAll(await openFloodwall(), attacks, ours);
    await attackAll(await openFastNetMon(), Math.ceil(attacks / 4), rival, BOUND_MS / 1000);
    return LEVELS.map((level, i) => measurement(level, ours[i] ?? [], rival[i] ?? []));
  },
};

interface Reaction {
  readonly ms: number;
  /** When as many samples had been sent as the judgement needs, from the first packet. */
  readonly allowedMs: number;
}

async function attackAll(stack: Stack, attacks: number, into: Reaction[][], seconds?: number): Promise<void> {
  let host = 1;
  try {
    for (let i = 0; i < attacks; i++) {
      for (const [index, level] of LEVELS.entries()) {
        await Bun.sleep(Math.random() * PAUSE_MS);
        const { sent, reactedAtMs } = await stack.attack(`203.0.113.${host++}`, level, seconds ?? level.seconds);
        const firstMs = sent.first_wall_ns / 1e6;
        const ms = reactedAtMs === null ? BOUND_MS : Math.min(BOUND_MS, reactedAtMs - firstMs);
        into[index]?.push({ ms, allowedMs: sent.marked_ns / 1e6 });
      }
    }
  } finally {
    await stack.close();
  }
}

/** The first sample that shows it: this number in a window is less likely than 1 - the confidence of the service at the threshold itself. */
export function samplesNeeded(sampling: number): number {
  const mean = (THRESHOLD_PPS * WINDOW_SECONDS) / sampling;
  if (sampling === 1) return mean + 1;
  let [term, below, samples] = [Math.exp(-mean), 0, 0];
  while (1 - below > 1 - CONFIDENCE_DEFAULT) {
    below += term;
    samples++;
    term *= mean / samples;
  }
  return samples;
}

/** Each sample is a datagram of its own: an exporter that waits for more samples takes that time off everyone. */
function flood(namespace: Namespace, victim: string, { sampling, pps }: Level, seconds: number): Promise<SentRecords> {
  return sendRecords(namespace, {
    ...{ protocol: "sflow", port: FLOW_PORT, firstHost: victim, hosts: 1, sampling, bytes: 200, per: 1 },
    ...{ rate: pps / sampling, seconds, isPoisson: sampling > 1, mark: samplesNeeded(sampling) },
  });
}

async function openFloodwall(): Promise<Stack> {
  const world = await LabWorld.create({ hasMirror: false });
  return {
    async attack(victim, level, seconds) {
      const sending = flood(world.box, victim, level, seconds);
      const reactedAtMs = await seenAt(() => world.bird.hasRoute(`${victim}/32`), 1000 * seconds + 500, 1);
      return { sent: await sending, reactedAtMs };
    },
    close: () => world.close(),
  };
}

async function openFastNetMon(): Promise<Stack> {
  const namespaces = new Namespaces();
  const box = namespaces.add("box");
  const flows = { kind: "sflow", port: FLOW_PORT } as const;
  const rival = await FastNetMon.start({ namespace: box, flows, network: NETWORK, thresholdPps: THRESHOLD_PPS });
  return {
    async attack(victim, level, seconds) {
      const sending = flood(box, victim, level, seconds);
      await seenAt(() => rival.bannedAtMs(victim) !== null, 1000 * seconds + 500, 10);
      return { sent: await sending, reactedAtMs: rival.bannedAtMs(victim) };
    },
    async close() {
      await rival.stop();
      namespaces.close();
    },
  };
}

function seenAt(look: () => boolean | Promise<boolean>, ms: number, pauseMs: number): Promise<number | null> {
  return eventually(look, "", ms, pauseMs).then(
    () => performance.timeOrigin + performance.now(),
    () => null,
  );
}

function measurement({ sampling, pps }: Level, ours: readonly Reaction[], rival: readonly Reaction[]): Measurement {
  const times = (reactions: readonly Reaction[]) => reactions.map(({ ms }) => ms);
  const allowed = ours.map(({ allowedMs }) => allowedMs);
  const bound = Math.round(P99_RATIO_MAX * percentile(allowed, 0.99));
  const after = ours.map(({ ms, allowedMs }) => ms - allowedMs);
  const late = rival.filter(({ ms }) => ms >= BOUND_MS).length;
  const notes = late === 0 ? "" : `; FastNetMon not within ${BOUND_MS / 1000} s: ${late} of ${rival.length}`;
  const arrival = `samples needed had come after ${percentile(allowed, 0.5).toFixed(0)} ms, p99 ${percentile(allowed, 0.99).toFixed(0)} ms; the route ${percentile(after, 0.5).toFixed(0)} ms later, p99 ${percentile(after, 0.99).toFixed(0)} ms`;
  const question = `sFlow 1:${sampling}, flood of ${pps / THRESHOLD_PPS} × the threshold: first packet to route in BIRD (${arrival})${notes}`;
  return {
    ...{ question, unit: "ms", ours: distribution("Floodwall, route in BIRD", times(ours)) },
    rival: distribution("FastNetMon, ban script", times(rival)),
    target: `p99 ≤ ${bound} ms: ${P99_RATIO_MAX} × the samples' p99`,
    isMet: percentile(times(ours), 0.99) <= bound,
  };
}
