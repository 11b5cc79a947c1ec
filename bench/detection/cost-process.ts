/**
 * The service on a steady capture, in a process of its own so that its memory and threads are measured separately from
 * the bench's: prints the cost of each tick as a line of JSON.
 * Usage: cost-process.ts ORDER (JSON)
 */
import { SCREENED_ROWS_MAX } from "../../src/native/constants.ts";
import type { TickReading } from "../../src/observability/detection-metrics.ts";
import { Metrics } from "../../src/observability/metrics.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { bareFloodwall } from "../bare-floodwall.ts";

export interface CostOrder {
  readonly config: string;
  readonly directory: string;
  readonly hosts: number;
  /** This number of hosts must be handed over in each tick. */
  readonly screened: number;
  /** This number of hosts must have a baseline; 0 without baselines. */
  readonly learned: number;
  readonly settleMs: number;
  readonly runs: number;
  readonly runMs: number;
}

/** Milliseconds of one tick each, except for the timer delays. */
export interface CostRun {
  /** How long judging occupied the event loop. */
  readonly judgeMs: readonly number[];
  /** CPU time of the event loop's thread from one tick to the next: judging, learning, summing, garbage collection. */
  readonly loopMs: readonly number[];
  /** Hosts handed over to be judged. */
  readonly screened: readonly number[];
  /** The fold, on its own thread. */
  readonly foldMs: readonly number[];
  /** How late a timer was. */
  readonly waitMs: readonly number[];
  /** Share of the due ticks that ran; a late tick skips the ticks that it overlaps. */
  readonly tickShare: number;
  /** CPU time per second: of the event loop's thread, and of all threads, including those that count packets. */
  readonly loopCores: number;
  readonly cores: number;
}

export interface Cost {
  readonly runs: readonly CostRun[];
  readonly residentBytesBefore: number;
  readonly residentBytes: number;
  /** Part of it used by the packet counter. */
  readonly counterBytes: number;
}

const FULL_MS = 30_000;
/** After 12 s they have three quarters of what they will have after two minutes. */
const RULE_THREADS_MS = 12_000;
const TIMER_MS = 5;

const order = JSON.parse(Bun.argv[2] ?? "") as CostOrder;
const metrics = new Metrics("bench");
let screened = 0;
let onTick: (reading: TickReading) => void = () => {};
metrics.detection.tick = (reading) => {
  screened = reading.screenedRows;
  onTick(reading);
};
const floodwall = bareFloodwall(order.config, order.directory, metrics);

async function hostsLearned(): Promise<number> {
  return Number(/^svc_baselines (\d+)$/m.exec(await metrics.text())?.[1] ?? Number.NaN);
}

/**
 * All hosts are counted and learned; none is attacked. The number of hosts judged in a tick is known at the start and
 * fixed afterwards.
 */
async function complaint(screenedLeast: number): Promise<string | null> {
  const tracked = floodwall.packetPath?.stats().trackedHosts ?? 0;
  const learned = await hostsLearned();
  const attacks = floodwall.detector.active.size;
  const ended = floodwall.packetPath?.sources().some(({ state }) => state !== "running") ?? true;
  const isAsOrdered =
    tracked === order.hosts &&
    learned >= order.learned &&
    screened >= screenedLeast &&
    screened <= SCREENED_ROWS_MAX &&
    attacks === 0 &&
    !ended;
  if (isAsOrdered) return null;
  return `${JSON.stringify({ tracked, learned, screened, attacks, ended })}; is this machine busy with something else?`;
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

async function measure(): Promise<CostRun> {
  const [judgeMs, loopMs, screenedRows]: [number[], number[], number[]] = [[], [], []];
  const [foldMs, waitMs]: [number[], number[]] = [[], []];
  let lastMs = threadMs();
  onTick = ({ busySeconds, foldSeconds, screenedRows: rows }) => {
    screenedRows.push(rows);
    const nowMs = threadMs();
    judgeMs.push(1000 * busySeconds);
    foldMs.push(1000 * foldSeconds);
    loopMs.push(nowMs - lastMs);
    lastMs = nowMs;
  };
  let dueMs = performance.now() + TIMER_MS;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    waitMs.push(Math.max(0, nowMs - dueMs));
    dueMs = nowMs + TIMER_MS;
  }, TIMER_MS);
  const [cpu, loopBeforeMs, startedMs] = [process.cpuUsage(), lastMs, performance.now()];
  await Bun.sleep(order.runMs);
  const { user, system } = process.cpuUsage(cpu);
  const elapsedMs = performance.now() - startedMs;
  if (judgeMs.length === 0)
    throw new Error(`no tick ran within ${order.runMs} ms: is this machine busy with something else?`);
  const tickShare = Math.min(1, judgeMs.length / (elapsedMs / floodwall.config.detection.tickMs));
  const loopCores = (threadMs() - loopBeforeMs) / elapsedMs;
  const cores = (user + system) / 1000 / elapsedMs;
  clearInterval(timer);
  onTick = () => {};
  return { judgeMs, loopMs, screened: screenedRows, foldMs, waitMs, tickShare, loopCores, cores };
}

// The threads that find rules are no part of what hosts take: they are up, and their code compiled, before the first reading.
floodwall.rules.start();
await Bun.sleep(RULE_THREADS_MS);
const residentBytesBefore = process.memoryUsage.rss();
floodwall.start();
let why: string | null = "";
await eventually(
  async () => {
    // A host may be missing in a tick in which it got fewer packets than in others.
    why = await complaint(0.95 * order.screened);
    return why === null;
  },
  () => `not all is counted and learned: ${why}`,
  FULL_MS,
  200,
);
await Bun.sleep(order.settleMs);
const runs: CostRun[] = [];
for (let i = 0; i < order.runs; i++) runs.push(await measure());
why = await complaint(0);
if (why !== null) throw new Error(`hosts, baselines or the traffic went away during the run: ${why}`);
const counterBytes = floodwall.packetPath?.stats().memoryBytes ?? 0;
const cost: Cost = { runs, residentBytesBefore, residentBytes: process.memoryUsage.rss(), counterBytes };
console.log(JSON.stringify(cost));
await floodwall.stop();
process.exit(0);
