/**
 * How long does it take until each of very many hosts that are attacked in one moment has rules of its own, and how long
 * does the event loop keep other work waiting meanwhile? The whole service without its listener, on a generated capture,
 * with users beside each attack.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Ban } from "../../src/mitigation/ban.ts";
import { Metrics } from "../../src/observability/metrics.ts";
import { StateStore } from "../../src/storage/state-store.ts";
import { StateThread } from "../../src/storage/state-thread.ts";
import { systemTimers } from "../../src/system/timers.ts";
import { VICTIM_NETWORK, VICTIM_THRESHOLD_PPS, writeManyVictims } from "../../test/fixtures/captures/many-victims.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { bareFloodwall } from "../bare-floodwall.ts";
import { type Bench, figure, type Measurement } from "../measurement.ts";

/** Hosts, and the target for the last of them. */
const LEVELS = [
  { victims: 256, targetMs: 1000 },
  { victims: 1024, targetMs: 2000 },
];
/** Both in seconds; the service is ready before the attacks. */
const LASTS = { quietSeconds: 6, attackSeconds: 12 };
const RUNS = 3;
const DEADLINE_MS = 20_000;
const STALL_MAX_MS = 20;

/** Milliseconds from the first start of an attack. */
interface Wave {
  readonly narrowMs: number;
  readonly foundMs: number;
  readonly longestStallMs: number;
  /** Hosts that had a rule for all of their traffic for a time. */
  readonly wide: number;
}

export const manyAttacks: Bench = {
  question: "from the first of many attacks that begin in one moment to the rules of the last",
  async run({ isQuick }) {
    const measurements: Measurement[] = [];
    for (const { victims, targetMs } of LEVELS) {
      const waves: Wave[] = [];
      for (let run = 0; run < (isQuick ? 1 : RUNS); run++) waves.push(await wave(victims));
      measurements.push(found(waves, victims, targetMs), stall(waves, victims));
    }
    return measurements;
  },
};

function found(waves: readonly Wave[], victims: number, targetMs: number): Measurement {
  const ours = figure(
    "all found",
    waves.map(({ foundMs }) => foundMs),
  );
  const narrow = waves.map(({ narrowMs }) => narrowMs.toFixed(0)).join(", ");
  const wide = Math.max(...waves.map((each) => each.wide));
  return {
    question: `${manyAttacks.question} (${victims} hosts)`,
    ...{ unit: "ms", ours, rival: null, target: `≤ ${targetMs} ms`, isMet: ours.median <= targetMs },
    details: [`each has a rule narrower than all traffic after ${narrow} ms; at most ${wide} had one for all traffic`],
  };
}

function stall(waves: readonly Wave[], victims: number): Measurement {
  const ours = figure(
    "longest of each run",
    waves.map(({ longestStallMs }) => longestStallMs),
  );
  return {
    question: `time between two turns of the event loop until then (${victims} hosts)`,
    ...{ unit: "ms", ours, rival: null, target: `≤ ${STALL_MAX_MS} ms`, isMet: ours.median <= STALL_MAX_MS },
  };
}

async function wave(victims: number): Promise<Wave> {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-bench-many-${process.pid}-`));
  const capture = join(directory, "many.pcap");
  writeManyVictims(capture, { victims, ...LASTS });
  mkdirSync(join(directory, "state"));
  const file = new StateThread(join(directory, "state"));
  const { stored } = await file.open();
  const state = new StateStore({ file, stored, timers: systemTimers });
  const floodwall = bareFloodwall(configOf(capture), directory, new Metrics("bench"), state);
  const narrow = new Set<string>();
  const found = new Set<string>();
  const wide = new Set<string>();
  let [beganMs, narrowMs, longestStallMs, lastMs] = [0, 0, 0, 0];
  floodwall.onAttackEvent(() => {
    beganMs ||= performance.now();
  });
  floodwall.onBanChange(({ ban }) => {
    if (isWide(ban)) wide.add(ban.id);
    if (ban.measure.kind === "flowspec" && ban.measure.rules.length > 0 && !isWide(ban)) narrow.add(ban.id);
    if (narrow.size === victims) narrowMs ||= performance.now();
    if (isFound(ban)) found.add(ban.id);
  });
  const watch = setInterval(() => {
    const nowMs = performance.now();
    if (beganMs > 0 && lastMs > 0) longestStallMs = Math.max(longestStallMs, nowMs - lastMs);
    lastMs = nowMs;
  }, 1);
  floodwall.start();
  try {
    await eventually(
      () => found.size >= victims,
      () => `rules of ${found.size} of ${victims}`,
      DEADLINE_MS,
    );
    return { narrowMs: narrowMs - beganMs, foundMs: performance.now() - beganMs, longestStallMs, wide: wide.size };
  } finally {
    clearInterval(watch);
    await floodwall.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

function isWide({ measure }: Ban): boolean {
  return measure.kind === "flowspec" && measure.matchesAll;
}

/** From packets, not from counters. */
function isFound({ measure }: Ban): boolean {
  return measure.kind === "flowspec" && (measure.separability?.estimatedBy ?? null) !== null;
}

function configOf(capture: string): string {
  return `
dry_run: true
networks: [${VICTIM_NETWORK}]
capture: { pcap_file: ${capture}, pace: real }
thresholds: { pps: ${VICTIM_THRESHOLD_PPS}, mbps: 100000, flows_per_sec: 100000000 }
mitigation: flowspec
ban: { max_active_bans: 2000 }`;
}
