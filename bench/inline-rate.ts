/**
 * How many packets per second does the inline counter process with 65,536 hosts? Compared with a bare XDP drop and a
 * plain per-CPU hash counter, each in turn at the far end of the same veth. Our program drops the packets that it has
 * counted, as the others do (native_xdp/xdp_inline.bpf.c), while the service's reader collects the counts ten times a
 * second on the other CPU.
 */
import { namespacesUnavailable } from "../test/lab/namespaces.ts";
import {
  buildRivals,
  CountingProcess,
  DROPPING_ADDON,
  workerCommand,
  XDP_DROP,
  XDP_HASH_COUNT,
} from "./counting-process.ts";
import { type Bench, compared, figure, type Measurement } from "./measurement.ts";
import { DEVICE, type Flood, type FloodOptions, Wire } from "./wire.ts";

const RUNS = 5;
const HOT_RATIO_MIN = 0.65;
const NEW_FLOWS_RATIO_MIN = 0.45;
const NETWORK = "10.1.0.0/16";
const TARGETS = { target: "10.1.0.0", hosts: 65_536 } as const;
const ONE_FLOW_EACH: FloodOptions = { ...TARGETS, sources: 1, seconds: 2 };
const WORKER = { addon: DROPPING_ADDON, kind: "xdp_inline", device: DEVICE, network: NETWORK } as const;
/** 65 million flows, so that almost no packet belongs to a remembered flow. */
const NEW_FLOWS: FloodOptions = { ...TARGETS, sources: 1000, seconds: 2 };
/** The first packets of all hosts, which have no rows yet. */
const FIRST: FloodOptions = { ...TARGETS, sources: 1, seconds: 0.5 };
/** Pauses in which the kernel allocates memory for rows; repeated until every host has a row. */
const SETTLE: FloodOptions = { ...TARGETS, sources: 1, seconds: 1.4, pps: 50_000, path: "socket" };
const SETTLE_ROUNDS_MAX = 20;

interface Rates {
  readonly hot: number;
  readonly first: number;
}
interface OurRates extends Rates {
  readonly newFlows: number;
}

export const inlineRate: Bench = {
  question: "packets per second through the XDP counter at 65,536 hosts",
  async run({ isQuick }) {
    const unavailable = namespacesUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRivals();
    return measure(isQuick ? 1 : RUNS);
  },
};

/** All variants in turn, since machines drift. */
async function measure(runs: number): Promise<Measurement[]> {
  const [ours, hash, drop]: [OurRates[], Rates[], number[]] = [[], [], []];
  using wire = new Wire();
  for (let run = 0; run < runs; run++) {
    hash.push(await runHash(wire));
    drop.push(await runDrop(wire));
    ours.push(await runOurs(wire));
  }
  return measurements(ours, hash, drop);
}

function measurements(ours: readonly OurRates[], hash: readonly Rates[], drop: readonly number[]): Measurement[] {
  const floodwall = (key: keyof OurRates) =>
    figure(
      "Floodwall",
      ours.map((run) => run[key]),
    );
  const ofHash = (key: keyof Rates) =>
    figure(
      "per-CPU hash count",
      hash.map((run) => run[key]),
    );
  const question = "XDP count at 65,536 hosts";
  const unit = "packets/s";
  const hot = floodwall("hot");
  const bare = figure("bare XDP drop", drop);
  return [
    compared({ question, unit, ours: hot, rival: bare, ratioMin: HOT_RATIO_MIN }),
    compared({ question: "the same", unit, ours: hot, rival: ofHash("hot"), ratioMin: null }),
    compared({
      question: `${question}, each packet a new flow`,
      ...{ unit, ours: floodwall("newFlows"), rival: bare, ratioMin: NEW_FLOWS_RATIO_MIN },
    }),
    compared({
      question: `XDP count in the first ${FIRST.seconds} s of 65,536 hosts`,
      ...{ unit, ours: floodwall("first"), rival: ofHash("first"), ratioMin: null },
    }),
  ];
}

// The rate is what the veth accepted during the flood: sending and the program run on the same CPU in turn.
function rate({ arrived, seconds }: Flood): number {
  return arrived / seconds;
}

async function runDrop(wire: Wire): Promise<number> {
  wire.attach(XDP_DROP);
  const flood = await wire.flood(ONE_FLOW_EACH);
  wire.detach();
  return rate(flood);
}

async function runHash(wire: Wire): Promise<Rates> {
  wire.attach(XDP_HASH_COUNT);
  const first = await wire.flood(FIRST);
  const hot = await wire.flood(ONE_FLOW_EACH);
  const [counted, arrived] = [hashCount(wire), first.arrived + hot.arrived];
  if (counted !== arrived) throw new Error(`the per-CPU hash counted ${counted} of ${arrived} packets`);
  wire.detach();
  return { first: rate(first), hot: rate(hot) };
}

async function runOurs(wire: Wire): Promise<OurRates> {
  const counter = await CountingProcess.start(wire.box, workerCommand(WORKER));
  const first = await wire.flood(FIRST);
  const settleArrived = await settle(wire, counter);
  const hot = await wire.flood(ONE_FLOW_EACH);
  const newFlows = await wire.flood(NEW_FLOWS);
  const arrived = first.arrived + settleArrived + hot.arrived + newFlows.arrived;
  const { receivedPackets, countedPackets } = await counter.end(arrived);
  if (receivedPackets !== arrived) throw new Error(`Floodwall received ${receivedPackets} of ${arrived} packets`);
  // Before a host has its row, its packets may be counted for the network only; the compared figures exclude this
  // phase.
  const tracked = hot.arrived + newFlows.arrived;
  if (countedPackets < tracked) throw new Error(`Floodwall counted ${countedPackets} of ${tracked} packets to hosts`);
  return { first: rate(first), hot: rate(hot), newFlows: rate(newFlows) };
}

/** How many packets it took. */
async function settle(wire: Wire, counter: CountingProcess): Promise<number> {
  let arrived = 0;
  for (let round = 0; counter.trackedHosts < TARGETS.hosts; round++) {
    if (round === SETTLE_ROUNDS_MAX) throw new Error(`only ${counter.trackedHosts} hosts have rows`);
    arrived += (await wire.flood(SETTLE)).arrived;
  }
  return arrived;
}

interface HashRow {
  readonly formatted: { readonly values: readonly { readonly value: { readonly packets: number } }[] };
}

/** The sum over all hosts and CPUs. */
function hashCount(wire: Wire): number {
  const rows = JSON.parse(wire.box.run(["bpftool", "-j", "map", "dump", "name", "bench_hosts"])) as HashRow[];
  return rows.reduce((sum, { formatted }) => formatted.values.reduce((all, { value }) => all + value.packets, sum), 0);
}
