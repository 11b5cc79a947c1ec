/**
 * A process that counts flow records with the addon, as the service does: for benches, inside a network namespace.
 * Prints "ready", counts until its standard input closes, and prints the exporters' counts as a line of JSON.
 * Usage: collector-worker.ts OPTIONS, as JSON
 */

import type { Native } from "../../src/dataplane/native.d.ts";
import { addressToBytes } from "../../src/net/address.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { networksOf } from "../../test/fixtures/networks.ts";
import type { CollectorCounts, CollectorOptions } from "./collector-process.ts";

const TICK_MS = 100;
const MAX_HOSTS_DEFAULT = 1_048_576;

const { addon, port, network, receiveBuffer } = JSON.parse(Bun.argv[2] ?? "") as CollectorOptions;
const native = require(addon) as Native;
const windows = { windowMs: 1000, tickMs: TICK_MS, idleMs: 600_000 };
const engine = native.openEngine({ maxHosts: MAX_HOSTS_DEFAULT, countOutgoing: false, clock: "monotonic", ...windows });
engine.setNetworks(networksOf([network]));
const everyone = {
  ...{ address: addressToBytes(address("127.0.0.0")), length: 96 + 8, name: "all", samplingRate: null },
  ...{ direction: "ingress", external: null, internal: null, site: null, silentAfterMs: 60_000, decapsulate: [] },
} as const;
const source = engine.openFlowSource({
  ...{
    address: addressToBytes(address("127.0.0.1")),
    port,
    threads: 1,
    receiveBuffer,
    cpus: [],
    exporters: [everyone],
  },
});
// The networks take effect within a tick.
await tickOnce();
await tickOnce();
console.log("ready");
let isOpen = true;
const closing = Bun.stdin.text().then(() => {
  isOpen = false;
});
while (isOpen) {
  await Promise.race([Bun.sleep(TICK_MS), closing]);
  await engine.tick();
}
// Status is as of a second ago at most.
for (let i = 0; i < 12; i++) await tickOnce();
console.log(JSON.stringify(counts()));
source.close();
engine.close();
process.exit(0);

async function tickOnce(): Promise<void> {
  await Bun.sleep(TICK_MS);
  await engine.tick();
}

function counts(): CollectorCounts {
  const exporters = source.exporters({ withInterfaces: false });
  const { overruns, datagrams } = source.receiver();
  const sum = (value: (one: (typeof exporters)[number]) => number) =>
    exporters.reduce((all, one) => all + value(one), 0);
  return {
    ...{ datagrams, overruns, records: sum((one) => one.records), counted: sum((one) => one.counted) },
    lostRecords: sum((one) => one.lostRecords),
    lostDatagrams: sum((one) => one.lostDatagrams),
    templates: sum((one) => one.templates),
    exporters: exporters.map((one) => ({
      ...{ address: Buffer.from(one.address).toString("hex"), records: one.records, datagrams: one.datagrams },
      ...{ lostRecords: one.lostRecords, lostDatagrams: one.lostDatagrams, undecoded: one.undecoded },
    })),
    residentBytes: process.memoryUsage.rss(),
  };
}
