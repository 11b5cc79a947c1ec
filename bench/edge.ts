/**
 * Can one service handle a thousand edge nodes? The real service with SQLite, and a simulated fleet in a process of its
 * own: the time from a reload until the last node has its document, the answer times of reports, and other costs. No
 * published figures are known.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { mayConnect } from "../test/fixtures/http/crowd-process.ts";
import { eventually, freePort, ServiceProcess } from "../test/fixtures/service.ts";
import { TemporaryFolder } from "../test/fixtures/temporary-folder.ts";
import { EdgeSimProcess } from "./edge-sim/edge-sim-process.ts";
import { FleetConfig, type FleetShape } from "./edge-sim/fleet-config.ts";
import type { LoopWatch } from "./loop-watch.ts";
import { type Bench, distribution, figure, type Measurement } from "./measurement.ts";

/** A hostgroup has 20 nodes, each with 118 zones: those of its hostgroup, and 100 that all nodes have. */
const SIZES: FleetShape = { nodes: 1000, zones: 1000, groups: 50, seed: 1 };
const QUICK_SIZES: FleetShape = { nodes: 100, zones: 100, groups: 10, seed: 1 };
const WATCH = join(import.meta.dir, "loop-watch.ts");
const RUNS = 7;
const DELIVERY_TARGET_MS = 2000;
const LOOP_TARGET_MS = 50;
const REPORT_TARGET_MS = 20;
/** Each node reports every ten seconds (docs/interface.md#edge-report). */
const WINDOW_SECONDS = 10;
/** For measurements that reports would disturb. */
const NO_REPORTS_SECONDS = 3600;
const REPORTING_MS = 40_000;
const STATUS_READS = 7;
/** Memory is stable after this number of readings without a decrease of a percent. */
const STEADY_READS = 8;
const STEADY_MS = 500;
const STEADY_SHARE = 0.99;

type Measure = (fleet: Fleet, about: string) => Promise<Measurement[]>;

export const edgeDelivery = benchOf("edge nodes: reload to last document delivered", async (sizes) => [
  ...(await withFleet({ ...sizes, groups: 0 }, NO_REPORTS_SECONDS, delivery)),
  ...(await withFleet(sizes, NO_REPORTS_SECONDS, delivery)),
]);

export const edgeMemory = benchOf("edge nodes: memory of a parked poll", (sizes) =>
  withFleet(sizes, NO_REPORTS_SECONDS, memory),
);

export const edgeReports = benchOf("edge nodes: answers to reports, and fleet status", (sizes) =>
  withFleet(sizes, WINDOW_SECONDS, reporting),
);

/** Every report has the maximum size with a part of the node's zones: about 14,000 windows a second. */
export const edgeReportsFull = benchOf("edge nodes: answers to reports that are all cut to 64 KiB", (sizes) =>
  withFleet({ ...sizes, groups: 0 }, WINDOW_SECONDS, reporting),
);

function benchOf(question: string, measure: (sizes: FleetShape) => Promise<Measurement[]>): Bench {
  return {
    question,
    async run({ isQuick }) {
      const sizes = isQuick ? QUICK_SIZES : SIZES;
      const files = 4 * sizes.nodes;
      return (await mayConnect(files)) ? measure(sizes) : { skipped: `fewer than ${files} open files are allowed` };
    },
  };
}

/** A service, its fleet, and measurements of both. */
interface Fleet {
  readonly config: FleetConfig;
  readonly directory: string;
  readonly service: ServiceProcess;
  readonly sim: EdgeSimProcess;
  /** Since the last call. */
  readonly loop: (path?: "/" | "/collected") => Promise<LoopWatch>;
}

async function withFleet(shape: FleetShape, windowSeconds: number, measure: Measure): Promise<Measurement[]> {
  using directory = new TemporaryFolder("bench-edge");
  const config = new FleetConfig(shape);
  const watchPort = await freePort();
  config.writeTo(directory.path);
  const service = await ServiceProcess.start({
    config: config.text(directory.at("zones.yaml")),
    api: config.tokens(),
    env: { ...config.secrets(), BUN_OPTIONS: `--preload=${WATCH}`, LOOP_WATCH_PORT: String(watchPort) },
  });
  try {
    const sim = await EdgeSimProcess.play({ directory: directory.path, port: service.port, windowSeconds });
    try {
      const loop = async (path = "/") =>
        (await (await fetch(`http://127.0.0.1:${watchPort}${path}`)).json()) as LoopWatch;
      await allReceived(sim, shape.nodes);
      return await measure({ config, directory: directory.path, service, sim, loop }, aboutText(shape));
    } finally {
      await sim.end();
    }
  } finally {
    await service.remove();
  }
}

async function delivery(fleet: Fleet, about: string): Promise<Measurement[]> {
  const { config, directory, sim } = fleet;
  const { nodes } = config.shape;
  const [answeredMs, deliveredMs, blockedMs]: [number[], number[], number[]] = [[], [], []];
  for (let run = 1; run <= RUNS; run++) {
    writeFileSync(join(directory, "zones.yaml"), config.zonesText(run));
    await sim.mark();
    await fleet.loop();
    const askedAtMs = Date.now();
    const { status } = await fleet.service.post("/api/v1/config/reload", {}, config.adminSecret);
    if (status !== 200) throw new Error(`the reload was answered ${status}`);
    answeredMs.push(Date.now() - askedAtMs);
    const isDelivered = async () => (await sim.delivery()).nodes === nodes;
    await eventually(isDelivered, "not all nodes received the reloaded document", 60_000, 100);
    deliveredMs.push((await sim.delivery()).lastAtMs - askedAtMs);
    blockedMs.push((await fleet.loop()).longestMs);
  }
  const { polls, troubles } = await sim.summary();
  const [delivered, blocked] = [
    figure("Floodwall, from the reload command on", deliveredMs),
    figure("Floodwall", blockedMs),
  ];
  return [
    {
      question: `${about}: reload to last document delivered`,
      ...{ unit: "ms", ours: delivered, rival: null, target: `≤ ${count(DELIVERY_TARGET_MS)} ms` },
      isMet: delivered.median <= DELIVERY_TARGET_MS,
      details: [
        `${about}: the reload itself is answered after ${figure("", answeredMs).median} ms; a document is ${await documentBytes(fleet)} bytes; polls ${JSON.stringify(polls)}${troubleText(troubles)}`,
      ],
    },
    {
      question: `${about}: longest hold-up of the event loop at a reload`,
      ...{ unit: "ms", ours: blocked, rival: null, target: `≤ ${LOOP_TARGET_MS} ms` },
      isMet: blocked.median <= LOOP_TARGET_MS,
    },
  ];
}

/** The same number of polls again, with the same tokens, so that one-time costs are excluded. */
async function memory({ config, directory, service, loop }: Fleet, about: string): Promise<Measurement[]> {
  const { nodes } = config.shape;
  const before = await settledBytes(loop);
  const play = { directory, port: service.port, windowSeconds: NO_REPORTS_SECONDS };
  const more = await EdgeSimProcess.play(play);
  try {
    await allReceived(more, nodes);
    const bytes = ((await settledBytes(loop)) - before) / nodes;
    return [
      {
        question: `${about}: memory for each of ${count(nodes)} more polls`,
        unit: "KB",
        ours: figure("Floodwall, resident, with its connection", [bytes / 1024]),
        ...{ rival: null, target: "none set", isMet: true, isExact: true },
      },
    ];
  } finally {
    await more.end();
  }
}

/** Resident memory after it has stopped falling: freed memory returns to the system gradually. */
async function settledBytes(loop: Fleet["loop"]): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let steady = 0; steady < STEADY_READS; ) {
    const { rssBytes } = await loop("/collected");
    steady = rssBytes < least * STEADY_SHARE ? 0 : steady + 1;
    least = Math.min(least, rssBytes);
    await Bun.sleep(STEADY_MS);
  }
  return least;
}

async function allReceived(sim: EdgeSimProcess, nodes: number): Promise<void> {
  await eventually(
    async () => (await sim.delivery()).nodes === nodes,
    "not all nodes received the document",
    180_000,
    200,
  );
}

async function reporting(fleet: Fleet, about: string): Promise<Measurement[]> {
  const { config, service, sim } = fleet;
  const { nodes } = config.shape;
  // Waits for the first poll of all nodes, which computes everything that is cached.
  await Bun.sleep(1.5 * WINDOW_SECONDS * 1000);
  await sim.resetTimes();
  await fleet.loop();
  await Bun.sleep(REPORTING_MS);
  const { reports, reportTimesMs, failed, troubles } = await sim.summary();
  const reportLoop = (await fleet.loop()).longestMs;
  const [statusMs, blockedMs, bytes] = await statusReads(fleet);
  const [answers, reads] = [
    distribution("Floodwall, as the node sees it", reportTimesMs),
    figure("Floodwall", statusMs),
  ];
  const status = figure("Floodwall", blockedMs);
  return [
    {
      question: `${about}: answer to one of ${count(nodes)} reports every ${WINDOW_SECONDS} s, SQLite`,
      ...{ unit: "ms", ours: answers, rival: null, target: `p99 ≤ ${REPORT_TARGET_MS} ms` },
      isMet: (answers.tail?.p99 ?? Number.POSITIVE_INFINITY) <= REPORT_TARGET_MS && failed.report === 0,
      details: [
        `${about}: ${reports.taken} reports of up to ${reports.bytesMax} bytes, ${failed.report} not taken; the event loop was held up for ${reportLoop.toFixed(0)} ms at most${troubleText(troubles)}`,
        ...(await historyLines(service)),
      ],
    },
    {
      question: `${about}: GET /api/v1/edge/zones/status, ${count(bytes)} bytes`,
      ...{ unit: "ms", ours: reads, rival: null, target: "none set" },
      isMet: true,
    },
    {
      question: `${about}: longest hold-up of the event loop meanwhile`,
      ...{ unit: "ms", ours: status, rival: null, target: `≤ ${LOOP_TARGET_MS} ms` },
      isMet: status.median <= LOOP_TARGET_MS,
    },
  ];
}

/** Times of the readings, the longest delay of the event loop during each, and the size of an answer. */
async function statusReads({ config, service, loop }: Fleet): Promise<[number[], number[], number]> {
  const [times, blocked]: [number[], number[]] = [[], []];
  let bytes = 0;
  for (let read = 0; read < STATUS_READS; read++) {
    await loop();
    const begunMs = performance.now();
    const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1/edge/zones/status`, {
      headers: { authorization: `Bearer ${config.adminSecret}` },
    });
    bytes = (await answer.arrayBuffer()).byteLength;
    if (answer.status !== 200) throw new Error(`fleet status was answered ${answer.status}`);
    times.push(performance.now() - begunMs);
    blocked.push((await loop()).longestMs);
  }
  return [times, blocked, bytes];
}

/** The number of written and lost windows, from the service's metrics. */
async function historyLines(service: ServiceProcess): Promise<string[]> {
  const text = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
  const storageLines = /^svc_storage_(?:written|dropped|queued)_records(?:_total)?\{[^}]*edge[^}]*\} .*$/gm;
  return [...text.matchAll(storageLines)].map(([line]) => line);
}

async function documentBytes({ config, service }: Fleet): Promise<string> {
  const url = `http://127.0.0.1:${service.port}/api/v1/edge/zones?node=${config.nodes[0]?.name}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${config.adminSecret}` } });
  return count((await answer.arrayBuffer()).byteLength);
}

function aboutText({ nodes, zones, groups }: FleetShape): string {
  const where = groups === 0 ? "each zone on each node" : `in ${groups} hostgroups`;
  return `${count(nodes)} nodes × ${count(zones)} zones, ${where}`;
}

function troubleText(troubles: Readonly<Record<string, number>>): string {
  return Object.keys(troubles).length === 0 ? "" : `; troubles ${JSON.stringify(troubles)}`;
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
