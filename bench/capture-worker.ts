/**
 * A process that counts the packets of one interface with the addon, as the service does: for benches, inside a network
 * namespace. Prints "ready", counts until its standard input closes with the number of packets that arrived, and prints
 * the counts as a line of JSON.
 * Usage: capture-worker.ts OPTIONS, as JSON (counting-process.ts)
 */
import type { Engine, Native, Source, SourceOptions } from "../src/dataplane/native.d.ts";
import { networksOf } from "../test/fixtures/networks.ts";
import type { Counts, WorkerOptions } from "./counting-process.ts";

const TICK_MS = 100;
const SETTLE_MS = 5000;
/** The value that the service uses. */
const MAX_HOSTS_DEFAULT = 1_048_576;
const SAMPLE_EVERY = 256;

async function tickOnce(engine: Engine): Promise<void> {
  await Bun.sleep(TICK_MS);
  await engine.tick();
}

function sourceOptions({ kind, device, cpus = [] }: WorkerOptions): SourceOptions {
  const common = { interface: device, xdpMode: "native", cpus: [...cpus] } as const;
  switch (kind) {
    case "af_xdp":
      return { ...common, kind, queues: null, zeroCopy: "off" };
    case "xdp_inline":
      return { ...common, kind, sampleEvery: SAMPLE_EVERY };
  }
}

function countsOf(source: Source): Counts {
  const { queues, error } = source.status();
  if (error !== null) throw new Error(error);
  const counts = { receivedPackets: 0, countedPackets: 0, droppedPackets: 0 };
  for (const queue of queues) {
    counts.receivedPackets += queue.receivedPackets;
    counts.countedPackets += queue.countedPackets;
    counts.droppedPackets += queue.droppedRingFull + queue.droppedFillEmpty + queue.droppedKernel;
  }
  return counts;
}

/** Waits until the kernel has delivered all packets and the counters are stable, or until the time is over. */
async function countAll(engine: Engine, source: Source, arrived: number): Promise<Counts> {
  const deadline = performance.now() + SETTLE_MS;
  for (let last = countsOf(source); ; ) {
    await tickOnce(engine);
    const now = countsOf(source);
    const isSettled = now.receivedPackets === last.receivedPackets;
    if (isSettled && now.receivedPackets + now.droppedPackets >= arrived) return now;
    if (performance.now() > deadline) return now;
    last = now;
  }
}

/**
 * Prints the number of tracked hosts when it changes; the other process sends the number of arrived packets at the end.
 */
async function countUntilClosed(engine: Engine, source: Source): Promise<Counts> {
  let arrived: number | null = null;
  let reported = 0;
  const input = Bun.stdin.text().then((text) => {
    arrived = Number(text);
  });
  while (arrived === null) {
    await Promise.race([Bun.sleep(TICK_MS), input]);
    const { trackedHosts } = await engine.tick();
    if (trackedHosts !== reported) console.log(`tracking ${trackedHosts}`);
    reported = trackedHosts;
  }
  return countAll(engine, source, arrived);
}

const options = JSON.parse(Bun.argv[2] ?? "") as WorkerOptions;
const { addon, network, maxHosts = MAX_HOSTS_DEFAULT } = options;
const native = require(addon) as Native;
const windows = { windowMs: 1000, tickMs: TICK_MS, idleMs: 600_000 };
const engine = native.openEngine({ maxHosts, countOutgoing: false, clock: "monotonic", ...windows });
engine.setNetworks(networksOf([network]));
const source = engine.openSource(sourceOptions(options));
// The networks take effect within a tick.
await tickOnce(engine);
await tickOnce(engine);
console.log("ready");
console.log(JSON.stringify(await countUntilClosed(engine, source)));
source.close();
engine.close();
process.exit(0);
