/**
 * How many packets of one veth queue are counted per second? The first CPU sends 64-byte packets from 1,000 sources as
 * fast as it can; the addon in a Bun process counts them on the second CPU. Compared with a bare AF_XDP loop and with
 * FastNetMon with AF_PACKET.
 */
import { join } from "node:path";
import { eventually } from "../test/fixtures/service.ts";
import { namespacesUnavailable } from "../test/lab/namespaces.ts";
import { ADDON, BARE_RECEIVER, buildRivals, COUNTING_CPU, CountingProcess, workerCommand } from "./counting-process.ts";
import { FastNetMon, fastNetMonUnavailable } from "./fastnetmon.ts";
import { type Bench, figure, type Measurement } from "./measurement.ts";
import { DEVICE, type Flood, type FloodOptions, Wire } from "./wire.ts";

const RUNS = 5;
const RIVAL_RUNS = 3;
const NETWORK = "203.0.113.0/24";
const FLOOD: FloodOptions = { target: "203.0.113.9", sources: 1000, seconds: 3 };
/** AF_PACKET gets packets after XDP; without an XDP program live frames would not arrive. */
const XDP_PASS = join(import.meta.dir, "../build/lab/xdp_pass.bpf.o");
const QUESTION = "packets counted per second from one veth queue, 64 B, 1,000 sources";

interface Run {
  readonly countedPerSecond: number;
  /** Shares of the packets that arrived at the interface. */
  readonly counted: number;
  /** Counted, or reported as dropped. */
  readonly accounted: number;
}

export const captureRate: Bench = {
  question: QUESTION,
  async run() {
    const unavailable = namespacesUnavailable() ?? fastNetMonUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRivals();
    const [ours, bare] = await measureSockets();
    return measurements(ours, bare, await measureFastNetMon());
  },
};

function measurements(ours: readonly Run[], bare: readonly Run[], fastNetMon: readonly Run[]): Measurement[] {
  const shared = { unit: "packets/s", ours: rate("Floodwall", ours) };
  const ofBare = rate("bare AF_XDP loop", bare);
  const ofFastNetMon = rate("FastNetMon, AF_PACKET", fastNetMon);
  const accounted = figure("Floodwall", shares(ours, "accounted"));
  return [
    {
      ...shared,
      question: `${QUESTION} (of those offered: ${percent(ours)}; FastNetMon ${percent(fastNetMon)})`,
      rival: ofFastNetMon,
      target: "≥ 3 ×",
      isMet: shared.ours.median >= 3 * ofFastNetMon.median,
    },
    {
      ...shared,
      question: `the same (of those offered: ${percent(ours)}; bare loop ${percent(bare)})`,
      rival: ofBare,
      target: "≥ 0.8 ×",
      isMet: shared.ours.median >= 0.8 * ofBare.median,
    },
    {
      question: "of the packets sent: counted, or reported as dropped",
      unit: "%",
      ours: accounted,
      rival: null,
      target: "100 %",
      isMet: accounted.least === 100 && accounted.most === 100,
    },
  ];
}

function rate(name: string, runs: readonly Run[]) {
  return figure(
    name,
    runs.map(({ countedPerSecond }) => countedPerSecond),
  );
}

function shares(runs: readonly Run[], key: "counted" | "accounted"): number[] {
  return runs.map((run) => 100 * run[key]);
}

function percent(runs: readonly Run[]): string {
  return `${figure("", shares(runs, "counted")).median.toFixed(1)} %`;
}

/** Ours and the bare loop in turn, each run in its own process. */
async function measureSockets(): Promise<[Run[], Run[]]> {
  const wire = new Wire();
  try {
    const [ours, bare]: [Run[], Run[]] = [[], []];
    for (let run = 0; run < RUNS; run++) {
      ours.push(await runSocket(wire, workerCommand(ADDON, "af_xdp", DEVICE, NETWORK)));
      bare.push(await runSocket(wire, [BARE_RECEIVER, DEVICE]));
    }
    return [ours, bare];
  } finally {
    wire.close();
  }
}

async function runSocket(wire: Wire, command: readonly string[]): Promise<Run> {
  const receiver = await CountingProcess.start(wire.box, command);
  const flood = await wire.flood(FLOOD);
  const { countedPackets, droppedPackets } = await receiver.end(flood.arrived);
  return runOf(flood, countedPackets, droppedPackets);
}

function runOf({ arrived, seconds }: Flood, counted: number, dropped: number): Run {
  return {
    countedPerSecond: counted / seconds,
    counted: counted / arrived,
    accounted: (counted + dropped) / arrived,
  };
}

/** Uses its own packet counter since its start: its rates are averages over many seconds, and so too low. */
async function measureFastNetMon(): Promise<Run[]> {
  const wire = new Wire();
  const options = { namespace: wire.box, interface: DEVICE, network: NETWORK, thresholdPps: 1e9, cpu: COUNTING_CPU };
  try {
    wire.attach(XDP_PASS);
    const rival = await FastNetMon.start(options);
    try {
      const runs: Run[] = [];
      for (let run = 0; run < RIVAL_RUNS; run++) {
        const before = rival.countedPackets();
        const flood = await wire.flood(FLOOD);
        runs.push(runOf(flood, (await settledCount(rival)) - before, 0));
      }
      return runs;
    } finally {
      await rival.stop();
    }
  } finally {
    wire.close();
  }
}

/** Its ring holds 131,072 packets, which it may still be counting. */
async function settledCount(rival: FastNetMon): Promise<number> {
  let last = Number.NaN;
  const hasSettled = async () => {
    const before = last;
    last = rival.countedPackets();
    if (last === before) return true;
    await Bun.sleep(200);
    return false;
  };
  await eventually(hasSettled, "FastNetMon is still counting", 10_000);
  return last;
}
