/**
 * What does detection cost at 10,000, 100,000 and 1,000,000 active hosts: a tick, the event loop and memory, with
 * thresholds alone, with baselines, and with carpet detection as well? Compared with FastNetMon's memory for a /16.
 */
import { join } from "node:path";
import { SCREENED_ROWS_MAX } from "../../src/native/constants.ts";
import { outputOf } from "../../test/fixtures/child-output.ts";
import { TemporaryFolder } from "../../test/fixtures/temporary-folder.ts";
import { fastNetMonUnavailable } from "../fastnetmon.ts";
import { HOST_NETWORK } from "../host-capture.ts";
import { type Bench, figure, type Measurement, percentile } from "../measurement.ts";
import type { Cost, CostOrder, CostRun } from "./cost-process.ts";
import { fastNetMonMemory, type RivalMemory } from "./rival-memory.ts";
import { BUSY_PPS, QUIET_PPS, writeSteadyCapture } from "./steady-capture.ts";

const SIZES = [10_000, 100_000, 1_000_000];
const MODES = ["thresholds", "baselines", "baselines and carpets"] as const;
type Mode = (typeof MODES)[number];

/** Above half of its size, the table admits new hosts selectively. */
const MAX_HOSTS_LEAST = 1_048_576;
const WARMUP_SECONDS = 3;
const SETTLE_MS = 4000;
/** Until all hosts are counted and learned. */
const FILL_SECONDS = 15;
/** A delayed reader of the capture catches up in a burst, which must not count as an attack. */
const FACTOR = 100;
const LENGTHS = { whole: { runs: 3, runMs: 5000 }, quick: { runs: 1, runMs: 4000 } };
const TARGET_MS = 20;
/** Share of the due ticks: on a machine that is too slow, the few ticks that run would not be longer. */
export const TICK_SHARE_MIN = 0.95;
const HOST_BYTES_TARGET = 400;
const PROCESS = join(import.meta.dir, "cost-process.ts");

export interface Row {
  readonly hosts: number;
  readonly mode: Mode;
  readonly cost: Cost;
}

export const detectionCost: Bench = {
  question: "what detection costs at 10,000, 100,000 and 1,000,000 hosts, all of them active each second",
  async run({ isQuick }) {
    const rows: Row[] = [];
    for (const hosts of SIZES) rows.push(...(await costs({ hosts, modes: MODES, isQuick })));
    const rival = fastNetMonUnavailable() === null ? await fastNetMonMemory() : null;
    return measurements(rows, rival);
  },
};

export interface CostsOptions {
  readonly hosts: number;
  readonly modes: readonly Mode[];
  readonly isQuick: boolean;
}

/** The cost of the service with this number of hosts, each of which gets packets in every second. */
export async function costs({ hosts, modes, isQuick }: CostsOptions): Promise<Row[]> {
  const length = isQuick ? LENGTHS.quick : LENGTHS.whole;
  using directory = new TemporaryFolder("bench-detection");
  const capture = directory.at("hosts.pcap");
  const busy = Math.min(hosts / 10, SCREENED_ROWS_MAX);
  const seconds = FILL_SECONDS + (SETTLE_MS + length.runs * length.runMs) / 1000;
  writeSteadyCapture(capture, { hosts, busy, seconds });
  const rows: Row[] = [];
  for (const mode of modes) {
    const isLearning = mode !== "thresholds";
    const config = configOf(capture, hosts, mode);
    const amounts = { hosts, screened: isLearning ? busy : 0, learned: isLearning ? hosts : 0 };
    const cost = await costOf({
      config,
      directory: directory.at(mode),
      settleMs: SETTLE_MS,
      ...amounts,
      ...length,
    });
    rows.push({ hosts, mode, cost });
  }
  return rows;
}

async function costOf(order: CostOrder): Promise<Cost> {
  const command = [process.execPath, PROCESS, JSON.stringify(order)];
  return JSON.parse(await outputOf({ name: `${order.hosts} hosts`, command })) as Cost;
}

/** The busy hosts are above the floor, so that each tick judges them against their baselines; none is attacked. */
function configOf(capture: string, hosts: number, mode: Mode): string {
  const floor = `{ pps: ${(QUIET_PPS + BUSY_PPS) / 2}, mbps: 1, flows_per_sec: 100 }`;
  const learned = `baseline: { factor: ${FACTOR}, half_life_seconds: 60, warmup_seconds: ${WARMUP_SECONDS}, floor: ${floor} }`;
  const carpets = "carpet: { thresholds: { pps: 1000000, mbps: 10000, flows_per_sec: 1000000 } }";
  return `
networks: [${HOST_NETWORK}]
capture: { pcap_file: ${capture}, pace: real, max_hosts: ${Math.max(MAX_HOSTS_LEAST, 2 * hosts)} }
thresholds: { pps: 1000, mbps: 1000, flows_per_sec: 1000 }
${mode === "thresholds" ? "" : learned}
${mode === "baselines and carpets" ? carpets : ""}`;
}

function measurements(rows: readonly Row[], rival: RivalMemory | null): Measurement[] {
  const learning = rows.filter(({ mode }) => mode === "baselines");
  return [
    ...learning.map((row) => timing(row, "judgeMs", "ticks", "event loop kept by one tick with")),
    ...learning.map((row) => timing(row, "waitMs", "timers", "how late a timer fires meanwhile, with")),
    ...memory(rows, rival),
  ];
}

function timing({ hosts, cost }: Row, key: "judgeMs" | "waitMs", name: string, question: string): Measurement {
  const p99s = cost.runs.map((run) => percentile(run[key], 0.99));
  const ours = figure(`p99 of each run's ${name}`, p99s);
  const tickShare = tickShareOf(cost);
  const dropped = tickShare < TICK_SHARE_MIN ? ` (only ${percent(tickShare)} of the ticks ran)` : "";
  return {
    question: `${question} ${text(hosts)} hosts, baselines on${dropped}`,
    unit: "ms",
    ours,
    rival: null,
    target: `p99 ≤ ${TARGET_MS} ms`,
    isMet: ours.median <= TARGET_MS && tickShare >= TICK_SHARE_MIN,
  };
}

/** The cost per host is smaller with more hosts, since a part of it is fixed. */
function memory(rows: readonly Row[], rival: RivalMemory | null): Measurement[] {
  const learning = rows.filter(({ mode }) => mode === "baselines");
  const all = learning.map(({ hosts, cost }) => `${text(hosts)}: ${megabytes(cost.residentBytes)} MB in all`);
  const [middle, largest] = learning.slice(-2).map((row) => figure("Floodwall, baselines on", [bytesPerHost(row)]));
  if (middle === undefined || largest === undefined) throw new Error("there are two sizes at least");
  const beside =
    rival === null ? "" : ` FastNetMon's of ${text(rival.hosts)}, ${megabytes(rival.residentBytes)} MB in all`;
  return [
    {
      question: `resident memory that each of ${all.at(-2)}, adds;${beside}`,
      unit: "B",
      ours: middle,
      rival: rival === null ? null : figure("FastNetMon", [rival.bytesPerHost]),
      target: "none set",
      isMet: true,
      isExact: true,
    },
    {
      question: `resident memory that each of ${all.at(-1)}, adds`,
      unit: "B",
      ours: largest,
      rival: null,
      target: `≤ ${HOST_BYTES_TARGET} B`,
      isMet: largest.median <= HOST_BYTES_TARGET,
      isExact: true,
      details: details(rows),
    },
  ];
}

/** One line per row, over the ticks of all runs. */
function details(rows: readonly Row[]): string[] {
  const spreads = ["one tick", "event loop's CPU for each", "timer late by", "fold"].map((name) => `${name}, ms`);
  const memories = ["resident MB", "more than empty, MB", "B a host", "counter's B a host", "baselines' B a host"];
  const heads = [
    "hosts",
    "judged by",
    "ticks run",
    "hosts judged a tick",
    ...spreads,
    "cores, loop",
    "cores, all threads",
    ...memories,
  ];
  const lines = [heads, heads.map(() => "---"), ...rows.map((row) => cells(row, rows))];
  return ["p50 / p99 / max:", ...lines.map((line) => `| ${line.join(" | ")} |`)];
}

function cells(row: Row, rows: readonly Row[]): string[] {
  const { hosts, mode, cost } = row;
  const spreads = (["judgeMs", "loopMs", "waitMs", "foldMs"] as const).map((key) => spread(cost.runs, key));
  const cores = (["loopCores", "cores"] as const).map((key) => mean(cost.runs.map((run) => run[key])).toFixed(2));
  const bare = rows.find((other) => other.hosts === hosts && other.mode === "thresholds") ?? row;
  const perHost = [bytesPerHost(row), cost.counterBytes / hosts, bytesPerHost(row) - bytesPerHost(bare)];
  const more = cost.residentBytes - cost.residentBytesBefore;
  const memories = [megabytes(cost.residentBytes), megabytes(more), ...perHost.map((bytes) => bytes.toFixed(0))];
  const ticks = percent(tickShareOf(cost));
  const judged = text(
    percentile(
      cost.runs.flatMap(({ screened }) => screened),
      0.5,
    ),
  );
  return [text(hosts), mode, ticks, judged, ...spreads, ...cores, ...memories];
}

/** Share of the due ticks that ran, over all runs. */
export function tickShareOf({ runs }: Cost): number {
  return mean(runs.map((run) => run.tickShare));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function spread(runs: readonly CostRun[], key: "judgeMs" | "loopMs" | "waitMs" | "foldMs"): string {
  const values = runs.flatMap((run) => run[key]);
  return [0.5, 0.99, 1].map((share) => percentile(values, share).toFixed(2)).join(" / ");
}

/** The memory that the hosts added to a process without hosts: rows, baselines, and buffers for reading them. */
export function bytesPerHost({ hosts, cost }: Row): number {
  return (cost.residentBytes - cost.residentBytesBefore) / hosts;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

function text(hosts: number): string {
  return hosts.toLocaleString("en-US");
}
