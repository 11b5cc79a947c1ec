/**
 * How many packets of one veth queue are counted per second? The first CPU sends 64-byte packets from 1,000 sources as
 * fast as it can; the addon in a Bun process counts them on the second CPU. Compared with a bare AF_XDP loop and with
 * FastNetMon with AF_PACKET, all in turn, and with what the traffic source sends to a bare XDP drop.
 */
import { join } from "node:path";
import { eventually } from "../test/fixtures/service.ts";
import { namespacesUnavailable } from "../test/lab/namespaces.ts";
import {
  ADDON,
  BARE_RECEIVER,
  buildRivals,
  COUNTING_CPU,
  CountingProcess,
  workerCommand,
  XDP_DROP,
} from "./counting-process.ts";
import { FastNetMon, fastNetMonUnavailable } from "./fastnetmon.ts";
import { type Bench, compared, figure, type Measurement } from "./measurement.ts";
import { DEVICE, type Flood, type FloodOptions, Wire } from "./wire.ts";

const RUNS = 5;
const NETWORK = "203.0.113.0/24";
const FLOOD: FloodOptions = { target: "203.0.113.9", sources: 1000, seconds: 3 };
const WORKER = { addon: ADDON, kind: "af_xdp", device: DEVICE, network: NETWORK } as const;
/** AF_PACKET gets packets after XDP; without an XDP program live frames would not arrive. */
const XDP_PASS = join(import.meta.dir, "../build/lab/xdp_pass.bpf.o");
const FASTNETMON_RATIO_MIN = 4;
const BARE_RATIO_MIN = 0.85;
const QUESTION = "packets counted per second from one veth queue, 64 B, 1,000 sources";

interface Run {
  readonly countedPerSecond: number;
  /** Shares of the packets that arrived at the interface. */
  readonly counted: number;
  /** Counted, or reported as dropped. */
  readonly accounted: number;
}

interface OurRun extends Run {
  /** CPU time of the capture worker, as a share of the flood's duration: how far it is from its own limit. */
  readonly workerBusy: number;
}

interface Runs {
  readonly ours: OurRun[];
  readonly bare: Run[];
  readonly fastNetMon: Run[];
  /** Packets that the source sends per second to a sink that does nothing. */
  readonly sourceAlone: number[];
}

export const captureRate: Bench = {
  question: QUESTION,
  async run({ isQuick }) {
    const unavailable = namespacesUnavailable() ?? fastNetMonUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRivals();
    return measurements(await measure(isQuick ? 1 : RUNS));
  },
};

function measurements({ ours, bare, fastNetMon, sourceAlone }: Runs): Measurement[] {
  const unit = "packets/s";
  const floodwall = rate("Floodwall", ours);
  const source = figure("source alone", sourceAlone);
  const accounted = figure("Floodwall", shares(ours, "accounted"));
  const workerBusy = ours.map((run) => 100 * run.workerBusy);
  const busy = `${figure("worker busy", workerBusy).median.toFixed(0)} %`;
  return [
    compared({
      ...{ question: `${QUESTION} (of those offered: ${percent(ours)}; FastNetMon ${percent(fastNetMon)})`, unit },
      ...{ ours: floodwall, rival: rate("FastNetMon, AF_PACKET", fastNetMon) },
      ...{ ratioMin: FASTNETMON_RATIO_MIN, sourceAlone: source },
    }),
    compared({
      ...{
        question: `the same (of those offered: ${percent(ours)}; bare loop ${percent(bare)}; our worker busy ${busy})`,
        unit,
      },
      ...{ ours: floodwall, rival: rate("bare AF_XDP loop", bare) },
      ...{ ratioMin: BARE_RATIO_MIN, sourceAlone: source },
    }),
    {
      question: "of the packets sent: counted, or reported as dropped",
      unit: "%",
      ours: accounted,
      rival: null,
      target: "100 %",
      isMet: accounted.least === 100 && accounted.most === 100,
      isExact: true,
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

/** Each run has its own process. Ours runs between its two rivals. */
async function measure(count: number): Promise<Runs> {
  const runs: Runs = { ours: [], bare: [], fastNetMon: [], sourceAlone: [] };
  using wire = new Wire();
  for (let run = 0; run < count; run++) {
    runs.sourceAlone.push(await runDrop(wire));
    runs.bare.push(await runSocket(wire, [BARE_RECEIVER, DEVICE]));
    runs.ours.push(await runSocket(wire, workerCommand(WORKER)));
    runs.fastNetMon.push(await runFastNetMon(wire));
  }
  return runs;
}

async function runDrop(wire: Wire): Promise<number> {
  wire.attach(XDP_DROP);
  const { arrived, seconds } = await wire.flood(FLOOD);
  wire.detach();
  return arrived / seconds;
}

async function runSocket(wire: Wire, command: readonly string[]): Promise<OurRun> {
  const receiver = await CountingProcess.start(wire.box, command);
  const flood = await wire.flood(FLOOD);
  const workerBusy = receiver.workerNs() / 1e9 / flood.seconds;
  const { countedPackets, droppedPackets } = await receiver.end(flood.arrived);
  return { ...runOf(flood, countedPackets, droppedPackets), workerBusy };
}

function runOf({ arrived, seconds }: Flood, counted: number, dropped: number): Run {
  return {
    countedPerSecond: counted / seconds,
    counted: counted / arrived,
    accounted: (counted + dropped) / arrived,
  };
}

/** Uses its own packet counter since its start: its rates are averages over many seconds, and so too low. */
async function runFastNetMon(wire: Wire): Promise<Run> {
  const options = { namespace: wire.box, interface: DEVICE, network: NETWORK, thresholdPps: 1e9, cpu: COUNTING_CPU };
  wire.attach(XDP_PASS);
  const rival = await FastNetMon.start(options);
  try {
    const before = rival.countedPackets();
    const flood = await wire.flood(FLOOD);
    return runOf(flood, (await settledCount(rival)) - before, 0);
  } finally {
    await rival.stop();
    wire.detach();
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
