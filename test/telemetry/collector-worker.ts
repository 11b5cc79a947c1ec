/**
 * A process that counts flow records with the addon, as the service does, inside a network namespace. Prints "ready",
 * and its counts as a line of JSON for each line that it gets. Usage: collector-worker.ts OPTIONS, as JSON
 */
import type { Native } from "../../src/dataplane/native.d.ts";
import type { ExporterRule } from "../../src/dataplane/native-flow.d.ts";
import { addressFromBytes, addressToBytes } from "../../src/net/address.ts";
import { mappedLength } from "../../src/net/prefix.ts";
import { allocateIntervalRows, INTERVAL_VALUES } from "../../src/traffic/interval-rows.ts";
import { linesOf } from "../fixtures/lines.ts";
import { networksOf, prefix } from "../fixtures/networks.ts";
import type { CollectorCounts, CollectorOptions, HostTotals } from "./collector.ts";

const TICK_MS = 100;
const ROWS = 4096;
/** The source's status is as of a second ago at most. */
const STATUS_TICKS = 12;

const options = JSON.parse(Bun.argv[2] ?? "") as CollectorOptions;
const native = require(options.addon) as Native;
const windows = { windowMs: 1000, tickMs: TICK_MS, idleMs: 600_000 };
const engine = native.openEngine({ maxHosts: 1_048_576, countOutgoing: false, clock: "monotonic", ...windows });
engine.setNetworks(networksOf(options.networks));
if (options.keepsTotals) engine.keepIntervals();
const source = engine.openFlowSource({
  ...{ address: addressToBytes(prefix("127.0.0.1/32").address), port: options.port, threads: options.threads ?? 1 },
  ...{ receiveBuffer: options.receiveBuffer, cpus: [], exporters: options.exporters.map(ruleOf) },
  saved: null,
});
const rows = allocateIntervalRows(ROWS);
const totals: Record<string, { packets: number; bytes: number }> = {};
// The networks take effect within a tick.
await tick(2);
console.log("ready");
let asked = 0;
let isOpen = true;
const reading = (async () => {
  for await (const _ of linesOf(Bun.stdin.stream())) asked++;
  isOpen = false;
})();
while (isOpen) {
  await tick(1);
  for (; asked > 0; asked--) {
    await tick(STATUS_TICKS);
    console.log(JSON.stringify(counts()));
  }
}
await reading;
source.close();
engine.close();
process.exit(0);

function ruleOf(text: string): ExporterRule {
  const { address, length } = { address: prefix(text).address, length: mappedLength(prefix(text)) };
  return {
    ...{
      address: addressToBytes(address),
      length,
      name: text,
      samplingRate: null,
      fastestInterfaceMbps: null,
      direction: options.direction ?? "both",
    },
    ...{ external: null, internal: null, site: null, silentAfterMs: 60_000, decapsulate: [] },
  };
}

async function tick(times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await Bun.sleep(TICK_MS);
    await engine.tick();
  }
  if (options.keepsTotals) takeTotals();
}

function takeTotals(): void {
  for (let cursor = 0; cursor >= 0; ) {
    const { next, count } = engine.takeIntervals(cursor, rows);
    for (let row = 0; row < count; row++) {
      const host = addressFromBytes(rows.addresses, 16 * row);
      const total = totals[host] ?? { packets: 0, bytes: 0 };
      totals[host] = total;
      total.packets += rows.incoming[INTERVAL_VALUES * row] ?? 0;
      total.bytes += (rows.incoming[INTERVAL_VALUES * row + 1] ?? 0) * (1e6 / 8);
    }
    cursor = next;
  }
}

function counts(): CollectorCounts {
  const exporters = source.exporters({ withInterfaces: false });
  const { overruns, datagrams, refused } = source.receiver();
  const hosts = Object.entries(totals).map(([host, { packets, bytes }]): [string, HostTotals] => [
    host,
    { packets: Math.round(packets), bytes: Math.round(bytes) },
  ]);
  return {
    ...{ datagrams, overruns, refused, hosts: Object.fromEntries(hosts), residentBytes: process.memoryUsage.rss() },
    exporters: exporters.map((one) => ({ ...one, address: addressFromBytes(one.address) })),
  };
}
