/**
 * How many packets per second does the kernel filter drop with 100,000 source blocks, and pass with as many in vain?
 * Beside a bare XDP drop, each in turn at the far end of the same veth with the same packets.
 */
import { readPinnedStatus } from "../src/dataplane/kernel-filter.ts";
import { BpfDirectory } from "../test/fixtures/bpf-directory.ts";
import { eventually, FilterProcess } from "../test/fixtures/filtering.ts";
import { address } from "../test/fixtures/host-rows.ts";
import { namespacesUnavailable } from "../test/lab/namespaces.ts";
import { buildRivals, XDP_DROP } from "./counting-process.ts";
import { type Bench, figure, type Measurement } from "./measurement.ts";
import { DEVICE, type Flood, type FloodOptions, Wire } from "./wire.ts";

const RUNS = 5;
const PAIRS = 100_000;
const PUT_AT_ONCE = 10_000;
const TARGET = "10.1.0.1";
const FLOOD: FloodOptions = { target: TARGET, sources: PAIRS, seconds: 2 };
const BOUNDS = { maxPairs: PAIRS, maxRules: 4096, maxPrefixes: 1024 } as const;

export const filterRate: Bench = {
  question: `packets per second through the filter with ${PAIRS} source blocks`,
  async run() {
    const unavailable = namespacesUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRivals();
    return measure();
  },
};

async function measure(): Promise<Measurement[]> {
  const [ours, drop]: [number[], number[]] = [[], []];
  const wire = new Wire();
  try {
    for (let run = 0; run < RUNS; run++) {
      wire.attach(XDP_DROP);
      drop.push(rate(await wire.flood(FLOOD)));
      wire.detach();
      ours.push(await runOurs(wire));
    }
  } finally {
    wire.close();
  }
  const [blocked, bare] = [figure("Floodwall", ours), figure("bare XDP drop", drop)];
  const question = `XDP source-block drop with ${PAIRS} pairs`;
  const isMet = blocked.median >= 0.7 * bare.median;
  return [{ question, unit: "packets/s", ours: blocked, rival: bare, target: "≥ 0.7 ×", isMet }];
}

// A rate is what the veth took in the flood's time: the frames are sent and the program runs on one CPU, in turn.
function rate({ arrived, seconds }: Flood): number {
  return arrived / seconds;
}

async function runOurs(wire: Wire): Promise<number> {
  const directory = new BpfDirectory();
  const filter = new FilterProcess(wire.box);
  try {
    const options = { pinPath: directory.path, interfaces: [DEVICE], xdpMode: "native", ...BOUNDS } as const;
    await filter.ask({ op: "open", options });
    for (let first = 0; first < PAIRS; first += PUT_AT_ONCE) await filter.ask({ op: "putPairs", pairs: pairs(first) });
    await filter.ask({ op: "attach" });
    const flood = await wire.flood(FLOOD);
    const dropped = () => readPinnedStatus(directory.path).verdicts.drop_source.packets;
    // Every packet that arrived was dropped for its pair, or the rate says nothing.
    await eventually(dropped, (packets) => packets === flood.arrived);
    await filter.ask({ op: "close", end: "detach" });
    return rate(flood);
  } finally {
    await filter.kill();
    directory.close();
  }
}

/** The sources that the flood has, from 198.18.0.1 upwards. */
function pairs(first: number) {
  const expiresAtMs = Date.now() + 3_600_000;
  return Array.from({ length: PUT_AT_ONCE }, (_, i) => {
    const host = 0xc6120001 + first + i;
    const source = [24, 16, 8, 0].map((shift) => (host >>> shift) & 255).join(".");
    return { source: address(source), victim: address(TARGET), expiresAtMs };
  });
}
