/**
 * How does the cost of a packet grow with hosts, frame length and queues? CPU time of the AF_XDP workers for each
 * packet, and what the receiving CPU needs more than for a bare XDP drop. One CPU sends and receives, another one
 * counts; with two queues each CPU does both, so that only the CPU time says something, not the rate.
 */
import { namespacesUnavailable } from "../test/lab/namespaces.ts";
import { ADDON, buildRivals, CountingProcess, type Counts, workerCommand, XDP_DROP } from "./counting-process.ts";
import { type Bench, figure, type Measurement } from "./measurement.ts";
import { sizingTable } from "./sizing.ts";
import { DEVICE, type FloodOptions, Wire } from "./wire.ts";

const RUNS = 3;
const SECONDS = 1;
const FIRST_HOST = "10.0.0.0";
const NETWORK = "10.0.0.0/8";
const SOURCES = 16;
const CHECK_SUM_BYTES = 4;
/** Above half of its size, the table admits new hosts selectively. */
const MAX_HOSTS = 2_097_152;
/** Until every host has a row: more slowly, since the first packet of a host allocates memory. */
const FILL_PPS = 1_500_000;
const FILL_ROUNDS_MAX = 10;
/** A worker that is busy for less of the time could count more: something else was the limit. */
const WORKER_BUSY_MIN = 0.95;

interface Shape {
  readonly queues: 1 | 2;
  /** With check sum. */
  readonly frameBytes: number;
  readonly hosts: number;
}

const HOSTS = [1000, 10_000, 100_000, 1_000_000];
const SHAPES: readonly Shape[] = [
  ...[64, 512, 1500].flatMap((frameBytes) => HOSTS.map((hosts) => ({ queues: 1, frameBytes, hosts }) as const)),
  ...HOSTS.map((hosts) => ({ queues: 2, frameBytes: 64, hosts }) as const),
];

interface Run {
  readonly workerNs: number;
  readonly countedPerSecond: number;
  /** The counted part of the packets that arrived. */
  readonly counted: number;
  readonly accounted: number;
  /** Share of the duration of the flood, the mean of the workers. */
  readonly workerBusy: number;
  /** Time of the receiving CPU for each packet: sending, receiving, copying. */
  readonly receiverNs: number;
  /** The same, for a bare XDP drop. */
  readonly dropNs: number;
}

interface Grown extends Shape {
  readonly runs: readonly Run[];
}

export const growth: Bench = {
  question: "CPU time of a packet by hosts, frame length and queues",
  async run({ isQuick }) {
    const unavailable = namespacesUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRivals();
    const grown: Grown[] = [];
    for (const shape of SHAPES) grown.push({ ...shape, runs: await measure(shape, isQuick ? 1 : RUNS) });
    return grown.map((one, i) => measurement(one, i === grown.length - 1 ? details(grown) : []));
  },
};

function measurement(grown: Grown, details: readonly string[]): Measurement {
  return {
    question: `AF_XDP workers' CPU time for a packet: ${shapeText(grown)}`,
    unit: "ns",
    ours: figure("Floodwall", valuesOf(grown, "workerNs")),
    rival: null,
    ...{ target: "none set", isMet: true, details },
  };
}

function shapeText({ queues, frameBytes, hosts }: Shape): string {
  return `${queues} queue${queues === 1 ? "" : "s"}, ${frameBytes} B, ${hosts.toLocaleString("en-US")} hosts`;
}

function valuesOf({ runs }: Grown, key: keyof Run): number[] {
  return runs.map((run) => run[key]);
}

function medianOf(grown: Grown, key: keyof Run): number {
  return figure(key, valuesOf(grown, key)).median;
}

/** Time of the receiving CPU beyond a bare XDP drop. */
function receivingNs(grown: Grown): number {
  return medianOf(grown, "receiverNs") - medianOf(grown, "dropNs");
}

function details(grown: readonly Grown[]): string[] {
  const model = grown.find(
    ({ queues, frameBytes, hosts }) => queues === 1 && frameBytes === 64 && hosts === HOSTS.at(-1),
  );
  if (model === undefined) throw new Error("the model's shape was not measured");
  const cost = { receiving: receivingNs(model), counting: medianOf(model, "workerNs") };
  const costs = `${cost.receiving.toFixed(0)} + ${cost.counting.toFixed(0)} ns`;
  return [
    ...table(grown),
    "",
    `A model, not measured (docs/sizing.md), from ${shapeText(model)}, ${costs}: share of the line rate that is counted`,
    ...sizingTable(cost),
  ];
}

function table(grown: readonly Grown[]): string[] {
  const heads = [
    ...["queues", "frame, B", "hosts", "worker, ns a packet", "receiving CPU beyond a drop, ns a packet"],
    ...["counted, Mpps", "of those sent", "counted or reported as dropped", "worker busy", "limit"],
  ];
  const lines = [heads, heads.map(() => "---"), ...grown.map(cells)];
  return lines.map((line) => `| ${line.join(" | ")} |`);
}

function cells(grown: Grown): string[] {
  const busy = medianOf(grown, "workerBusy");
  return [
    ...[grown.queues, grown.frameBytes, grown.hosts.toLocaleString("en-US")].map(String),
    ...[medianOf(grown, "workerNs").toFixed(1), grown.queues === 1 ? receivingNs(grown).toFixed(0) : ""],
    (medianOf(grown, "countedPerSecond") / 1e6).toFixed(2),
    ...(["counted", "accounted"] as const).map((key) => percent(medianOf(grown, key))),
    ...[percent(busy), busy < WORKER_BUSY_MIN ? "traffic source and receiving CPU" : "worker"],
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

async function measure(shape: Shape, count: number): Promise<Run[]> {
  using wire = new Wire(shape.queues);
  const runs: Run[] = [];
  for (let run = 0; run < count; run++) {
    const dropNs = await runDrop(wire, shape);
    runs.push({ dropNs, ...(await runOurs(wire, shape)) });
  }
  return runs;
}

interface Flooded {
  readonly arrived: number;
  readonly seconds: number;
}

/** Each queue gets its frames from a CPU of its own. @param pps of each; 0: as fast as it goes. */
async function flood(wire: Wire, { queues, frameBytes, hosts }: Shape, pps = 0): Promise<Flooded> {
  const options: FloodOptions = { target: FIRST_HOST, hosts, sources: SOURCES, seconds: SECONDS, pps };
  const shared = { bytes: frameBytes - CHECK_SUM_BYTES, sharesCpu: queues > 1 };
  const before = wire.arrived();
  const cpus = Array.from({ length: queues }, (_, cpu) => cpu);
  const floods = await Promise.all(cpus.map((cpu) => wire.flood({ ...options, ...shared, cpu })));
  return { arrived: wire.arrived() - before, seconds: Math.max(...floods.map(({ seconds }) => seconds)) };
}

async function runDrop(wire: Wire, shape: Shape): Promise<number> {
  wire.attach(XDP_DROP);
  const { arrived, seconds } = await flood(wire, shape);
  wire.detach();
  return (1e9 * seconds) / arrived;
}

async function runOurs(wire: Wire, shape: Shape): Promise<Omit<Run, "dropNs">> {
  // Queue 0 gets its frames from the first CPU, and its worker has the second one.
  const cpus = shape.queues === 1 ? [1] : [1, 0];
  const options = {
    addon: ADDON,
    kind: "af_xdp",
    device: DEVICE,
    network: NETWORK,
    cpus,
    maxHosts: MAX_HOSTS,
  } as const;
  const counter = await CountingProcess.start(wire.box, workerCommand(options), cpus);
  const filled = await fill(wire, shape, counter);
  const beforeNs = counter.workerNs();
  const measured = await flood(wire, shape);
  const workerNs = counter.workerNs() - beforeNs;
  const counts = await counter.end(filled + measured.arrived);
  return runOf({ shape, counts, workerNs, measured, arrived: filled + measured.arrived });
}

interface Counted {
  readonly shape: Shape;
  /** Counts of all floods. */
  readonly counts: Counts;
  readonly arrived: number;
  /** Time in the last flood. */
  readonly workerNs: number;
  readonly measured: Flooded;
}

function runOf({ shape, counts, arrived, workerNs, measured }: Counted): Omit<Run, "dropNs"> {
  const counted = counts.receivedPackets / arrived;
  const packets = counted * measured.arrived;
  return {
    workerNs: workerNs / packets,
    countedPerSecond: packets / measured.seconds,
    counted,
    accounted: (counts.receivedPackets + counts.droppedPackets) / arrived,
    workerBusy: workerNs / (1e9 * measured.seconds * shape.queues),
    receiverNs: (1e9 * measured.seconds) / measured.arrived,
  };
}

/** Floods until all hosts have rows; returns how many packets that took. */
async function fill(wire: Wire, shape: Shape, counter: CountingProcess): Promise<number> {
  let arrived = 0;
  for (let round = 0; counter.trackedHosts < shape.hosts; round++) {
    if (round === FILL_ROUNDS_MAX) throw new Error(`only ${counter.trackedHosts} of ${shape.hosts} hosts have rows`);
    arrived += (await flood(wire, shape, FILL_PPS)).arrived;
    // The worker reports its hosts at each tick.
    await Bun.sleep(500);
  }
  return arrived;
}
