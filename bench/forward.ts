/**
 * How many packets that the filter passes go on in a second? By XDP redirect with all tables in place, compared with the
 * kernel's forwarding with nftables counters, and with a program that only rewrites MAC addresses and redirects. They are
 * counted where they arrive. And what does a packet cost beyond that bare redirect, in test runs (native_xdp/packet_times.cpp)?
 */
import { join } from "node:path";
import { PacketProcess } from "../test/fixtures/dataplane/asked-process.ts";
import { BpfDirectory } from "../test/fixtures/dataplane/bpf-directory.ts";
import { namespacesUnavailable } from "../test/lab/namespaces.ts";
import { buildRivals, PACKET_TIMES, XDP_DROP, XDP_REDIRECT } from "./counting-process.ts";
import { BOUNDS, PAIRS, pairsTo, rulesFor, VICTIM } from "./dataplane-tables.ts";
import { type Bench, compared, figure, type Measurement, type RunOptions } from "./measurement.ts";
import { DEVICE, type FloodOptions, Wire } from "./wire.ts";

const XDP_PASS = join(import.meta.dir, "../build/lab/xdp_pass.bpf.o");
const RUNS = 5;
const ROUNDS = 4;
const KERNEL_RATIO_MIN = 3;
const ADDED_NS_MAX = 100;
/** No pair and no rule is for it. */
const TARGET = "10.9.0.1";
const FLOOD: FloodOptions = { target: TARGET, sources: 1000, seconds: 1.5 };
const BARE = "bare redirect that rewrites MAC addresses";
const CLEAN = "forward, a clean packet by 100,000 pairs and 4,096 rules";
const MANY = "forward, clean packets to 1,000 destinations";
const BARE_MANY = "bare redirect, 1,000 destinations";
const VALIDATED = "forward, a packet of a validated source";
const COUNTERS = `
table ip counted {
  chain forward {
    type filter hook forward priority filter;
    ip daddr 10.9.0.0/16 counter
  }
}`;

interface Rates {
  readonly ours: number[];
  readonly bare: number[];
  readonly kernel: number[];
}

export const forward: Bench = {
  question: "packets that pass and go on in a second",
  async run({ isQuick }: RunOptions) {
    const unavailable = namespacesUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRivals();
    const runs = isQuick ? 1 : RUNS;
    const rates: Rates = { ours: [], bare: [], kernel: [] };
    const wire = new Wire();
    try {
      addWayOut(wire);
      for (let run = 0; run < runs; run++) await measureAll(wire, rates);
    } finally {
      wire.close();
    }
    return [...rateRows(rates), ...timeRows(Array.from({ length: runs }, timesOfRun))];
  },
};

/** A veth with the number that the bare program redirects to; what arrives at its far end is counted and dropped. */
function addWayOut({ box }: Wire): void {
  const commands = [
    "ip link add victim0 index 77 address 02:00:00:00:99:02 type veth peer name victim1 address 02:00:00:00:99:01",
    `ip link set dev victim1 xdpdrv object ${XDP_DROP} section xdp`,
    "ip link set victim0 up",
    "ip link set victim1 up",
    "ip address add 10.9.255.254/16 dev victim0",
    `ip neigh add ${TARGET} lladdr 02:00:00:00:99:01 nud permanent dev victim0`,
    "for conf in all default; do echo 0 > /proc/sys/net/ipv4/conf/$conf/rp_filter; done",
    `echo 0 > /proc/sys/net/ipv4/conf/${DEVICE}/rp_filter`,
    "echo 1 > /proc/sys/net/ipv4/conf/all/forwarding",
  ];
  box.run(["sh", "-ec", commands.join("\n")]);
}

function arrived({ box }: Wire): number {
  return Number(/rx_queue_0_xdp_packets: (\d+)/.exec(box.run(["ethtool", "-S", "victim1"]))?.[1]);
}

/** All variants in turn, since machines drift. */
async function measureAll(wire: Wire, rates: Rates): Promise<void> {
  wire.attach(XDP_REDIRECT);
  rates.bare.push(await flooded(wire));
  wire.detach();
  rates.ours.push(await runOurs(wire));
  wire.box.run(["nft", COUNTERS]);
  // Live frames arrive at a veth with a program only.
  wire.attach(XDP_PASS);
  rates.kernel.push(await flooded(wire));
  wire.detach();
  wire.box.run(["nft", "flush", "ruleset"]);
}

async function flooded(wire: Wire): Promise<number> {
  const before = arrived(wire);
  const { seconds } = await wire.flood(FLOOD);
  return (arrived(wire) - before) / seconds;
}

async function runOurs(wire: Wire): Promise<number> {
  const directory = new BpfDirectory();
  const filter = new PacketProcess(wire.box);
  try {
    const forwarding = { forward: { tunnels: [] } };
    await filter.ask("openFilter", { pinPath: directory.path, interfaces: [DEVICE], ...BOUNDS, ...forwarding });
    await filter.ask("putPairs", pairsTo(VICTIM, 0, PAIRS));
    await filter.ask("setRules", rulesFor());
    await filter.ask("attach");
    const rate = await flooded(wire);
    const { forward: counts } = await filter.ask("filterStatus");
    const { redirected, kernel_refresh: refreshes } = counts?.outcomes ?? {};
    if ((redirected?.packets ?? 0) < 100 * (refreshes?.packets ?? 0)) throw new Error("packets were not redirected");
    await filter.ask("closeFilter", "detach");
    return rate;
  } finally {
    await filter.kill();
    directory.close();
  }
}

function rateRows({ ours, bare, kernel }: Rates): Measurement[] {
  const row = { unit: "packets/s", ours: figure("Floodwall, redirect", ours) };
  const question = "forward a clean packet, XDP redirect, with all tables in place";
  const rival = figure("kernel forwarding with nftables counters", kernel);
  return [
    compared({ question, ...row, rival, ratioMin: KERNEL_RATIO_MIN }),
    compared({ question, ...row, rival: figure(BARE, bare), ratioMin: null }),
  ];
}

type Times = Readonly<Record<string, number>>;

function timesOfRun(): Times {
  const run = Bun.spawnSync([PACKET_TIMES, String(ROUNDS)], { stdout: "pipe", stderr: "pipe" });
  if (!run.success) throw new Error(run.stderr.toString());
  return JSON.parse(run.stdout.toString()) as Times;
}

/** Nanoseconds are what ours takes beyond the bare redirect, run by run. */
function timeRows(runs: readonly Times[]): Measurement[] {
  const pairs = [
    [CLEAN, BARE],
    [MANY, BARE_MANY],
    [VALIDATED, BARE],
  ] as const;
  return pairs.map(([name, bare]) => {
    const added = runs.map((times) => (times[name] ?? Number.NaN) - (times[bare] ?? Number.NaN));
    const ours = figure("Floodwall, beyond a bare redirect", added);
    const target = `≤ ${ADDED_NS_MAX} ns`;
    return { question: name, unit: "ns/packet", ours, rival: null, target, isMet: ours.median <= ADDED_NS_MAX };
  });
}
