/** FastNetMon's memory per host: its resident memory with an active /16, minus that with one host. */
import { join } from "node:path";
import { namespacesUnavailable } from "../../test/lab/namespaces.ts";
import { FastNetMon } from "../fastnetmon.ts";
import { DEVICE, Wire } from "../wire.ts";

export interface RivalMemory {
  readonly hosts: number;
  readonly residentBytes: number;
  readonly bytesPerHost: number;
}

const HOSTS = 65_536;
const PPS = 100_000;
const SECONDS = 3;
/** AF_PACKET gets packets after XDP; without an XDP program live frames would not arrive. */
const XDP_PASS = join(import.meta.dir, "../../build/lab/xdp_pass.bpf.o");

/** null: it cannot be measured here. */
export async function fastNetMonMemory(): Promise<RivalMemory | null> {
  if (namespacesUnavailable() !== null) return null;
  const [all, one] = [await residentBytes("10.1.0.0/16", HOSTS), await residentBytes("10.1.0.0/32", 1)];
  return { hosts: HOSTS, residentBytes: all, bytesPerHost: (all - one) / (HOSTS - 1) };
}

async function residentBytes(network: string, hosts: number): Promise<number> {
  using wire = new Wire();
  wire.attach(XDP_PASS);
  const rival = await FastNetMon.start({ namespace: wire.box, interface: DEVICE, network, thresholdPps: 1e9 });
  try {
    await wire.flood({ target: "10.1.0.0", hosts, sources: 1000, pps: PPS, seconds: SECONDS });
    return rival.residentBytes();
  } finally {
    await rival.stop();
  }
}
