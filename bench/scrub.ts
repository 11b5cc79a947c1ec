/**
 * How many SYN of a spoofed flood does the filter answer in a second, and how many segments of unknown sources does it
 * drop? Compared with a program that only swaps addresses and sends back, with a bare drop, and with the kernel's
 * synproxy as nftables sets it up. The answers leave by the same veth and are dropped at its other end.
 */

import { join } from "node:path";
import { readPinnedStatus } from "../src/dataplane/kernel-filter.ts";
import type { FilterVerdict } from "../src/dataplane/native.d.ts";
import { wideRule } from "../src/mitigation/rules/rule.ts";
import type { ValidationWay } from "../src/mitigation/scrub/scrub-filter.ts";
import { exactly } from "../src/net/range.ts";
import { IP_PROTOCOL } from "../src/traffic/ip-protocol.ts";
import { answered, PacketProcess } from "../test/fixtures/dataplane/asked-process.ts";
import { BpfDirectory } from "../test/fixtures/dataplane/bpf-directory.ts";
import { prefix } from "../test/fixtures/networks.ts";
import { namespacesUnavailable } from "../test/lab/namespaces.ts";
import { buildRivals, XDP_DROP, XDP_TX } from "./counting-process.ts";
import { BOUNDS, later } from "./dataplane-tables.ts";
import { type Bench, compared, figure, type Measurement, type RunOptions } from "./measurement.ts";
import { DEVICE, type FloodOptions, Wire } from "./wire.ts";

const XDP_PASS = join(import.meta.dir, "../build/lab/xdp_pass.bpf.o");
const RUNS = 5;
const SECONDS = 1.5;
const TX_RATIO_MIN = 0.6;
const SYNPROXY_RATIO_MIN = 15;
const VICTIM = "10.1.0.1";
/** The number is so high that no prefix of them has more answers than its bound. */
const SYNS: FloodOptions = { profile: "syn", target: VICTIM, sources: 1_000_000, seconds: SECONDS };
/** Packets of the box's own network stack, that nftables sees. */
const SYNPROXY = `
table ip scrub {
  chain raw {
    type filter hook prerouting priority raw;
    tcp flags & (syn | ack) == syn notrack
  }
  chain forward {
    type filter hook forward priority filter;
    ct state invalid,untracked synproxy mss 1460 wscale 7 timestamp sack-perm
  }
}`;

interface Rates {
  readonly transparent: number[];
  readonly reset: number[];
  readonly dropped: number[];
  readonly bareTx: number[];
  readonly bareDrop: number[];
  readonly synproxy: number[];
}

export const scrub: Bench = {
  question: "SYN of a spoofed flood that are answered in a second",
  async run({ isQuick }: RunOptions) {
    const unavailable = namespacesUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRivals();
    const rates: Rates = { transparent: [], reset: [], dropped: [], bareTx: [], bareDrop: [], synproxy: [] };
    using wire = new Wire();
    wire.attachFar(XDP_DROP);
    for (let run = 0; run < (isQuick ? 1 : RUNS); run++) await measureAll(wire, rates);
    return measurements(rates);
  },
};

/** All variants in turn, since machines drift. */
async function measureAll(wire: Wire, rates: Rates): Promise<void> {
  rates.bareTx.push(await runBare(wire, XDP_TX, SYNS, "xdp_tx"));
  rates.bareDrop.push(await runBare(wire, XDP_DROP, SYNS, "xdp_packets"));
  rates.transparent.push(await runOurs(wire, "validate_transparent", "answer_ack"));
  rates.reset.push(await runOurs(wire, "validate_reset", "answer_syn_ack"));
  rates.synproxy.push(await runSynproxy(wire));
}

function measurements({ transparent, reset, bareTx, synproxy }: Rates): Measurement[] {
  const unit = "packets/s";
  const [ours, other] = [figure("Floodwall, transparent", transparent), figure("Floodwall, reset", reset)];
  const swap = figure("bare XDP_TX that swaps addresses", bareTx);
  const proxy = figure("nftables synproxy", synproxy);
  return [
    compared({ question: "SYN answered by XDP_TX", unit, ours, rival: swap, ratioMin: TX_RATIO_MIN }),
    compared({ question: "SYN answered by XDP_TX", unit, ours: other, rival: swap, ratioMin: TX_RATIO_MIN }),
    compared({ question: "spoofed SYN flood answered", unit, ours, rival: proxy, ratioMin: SYNPROXY_RATIO_MIN }),
    compared({ question: "spoofed SYN flood answered", unit, ours: other, rival: proxy, ratioMin: SYNPROXY_RATIO_MIN }),
  ];
}

async function runBare(wire: Wire, program: string, options: FloodOptions, counter: string): Promise<number> {
  wire.attach(program);
  const before = wire.counted(counter);
  const { seconds } = await wire.flood(options);
  const rate = (wire.counted(counter) - before) / seconds;
  wire.detach();
  return rate;
}

/** Every SYN that arrived must have been answered; else the rate means nothing. */
async function runOurs(wire: Wire, kind: `validate_${ValidationWay}`, verdict: FilterVerdict): Promise<number> {
  const directory = new BpfDirectory();
  const filter = new PacketProcess(wire.box);
  const count = () => readPinnedStatus(directory.path).verdicts[verdict].packets;
  const rule = {
    ...wideRule(prefix(`${VICTIM}/32`), { kind: "discard" }),
    protocols: exactly(IP_PROTOCOL.tcp),
    action: { kind, learnedBytesPerSecond: 0 },
  } as const;
  try {
    await filter.ask("openFilter", { pinPath: directory.path, interfaces: [DEVICE], ...BOUNDS });
    await filter.ask("setRules", [{ id: "v", rule, expiresAtMs: later() }]);
    await filter.ask("attach");
    const before = wire.counted("xdp_tx");
    const { arrived, seconds } = await wire.flood(SYNS);
    await answered(count, (packets) => packets === arrived);
    const rate = (wire.counted("xdp_tx") - before) / seconds;
    await filter.ask("closeFilter", "detach");
    return rate;
  } finally {
    await filter.kill();
    directory.close();
  }
}

/** SYN that the kernel's synproxy took: hexadecimal, a line for each CPU. */
function synproxyAnswers({ box }: Wire): number {
  const [, ...lines] = box.run(["cat", "/proc/net/stat/synproxy"]).trim().split("\n");
  return lines.reduce((sum, line) => sum + Number.parseInt(line.trim().split(/\s+/)[1] ?? "", 16), 0);
}

/** The victim is reached by another device; what the box sends back by the first one are answers. */
async function runSynproxy(wire: Wire): Promise<number> {
  const { box } = wire;
  const commands = [
    "ip link add victim0 type veth peer name victim1",
    "ip link set victim0 up",
    "ip link set victim1 up",
    "ip address add 10.1.0.254/24 dev victim0",
    `ip neigh add ${VICTIM} lladdr 02:00:00:00:99:01 dev victim0`,
    `ip address add 198.18.255.2/30 dev ${DEVICE}`,
    // The sources need no entries of their own.
    "ip route add 198.18.0.0/15 via 198.18.255.1",
    `ip neigh add 198.18.255.1 lladdr 02:00:00:00:00:01 dev ${DEVICE}`,
    "echo 1 > /proc/sys/net/ipv4/ip_forward",
  ];
  box.run(["sh", "-ec", commands.join("; ")]);
  box.run(["nft", SYNPROXY]);
  wire.attach(XDP_PASS);
  try {
    const [sent, answered] = [wire.sentBack(), synproxyAnswers(wire)];
    const { seconds } = await wire.flood(SYNS);
    const answers = synproxyAnswers(wire) - answered;
    // Other packets may leave as well, and an answer may be lost.
    return Math.min(answers, wire.sentBack() - sent) / seconds;
  } finally {
    wire.detach();
    box.run(["sh", "-ec", `nft flush ruleset; ip link del victim0; ip address flush dev ${DEVICE}`]);
  }
}
