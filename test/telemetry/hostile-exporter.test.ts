/** An exporter at its worst, and others that are none, beside a right one: what that one says counts to the packet. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { outputOf } from "../fixtures/child-output.ts";
import { Undo } from "../fixtures/undo.ts";
import { type Namespace, Namespaces, namespacesUnavailable } from "../lab/namespaces.ts";
import { Collector, type CollectorCounts } from "./collector.ts";
import { buildRecordSender, type FlowProtocol, readTotals, type SentTotals, sendRecords } from "./record-sender.ts";

const PORT = 2055;
const SECONDS = 1;
const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const [RIGHT, HOSTILE] = ["127.0.1.1", "127.0.2.1"];
const OUTSIDERS = ["127.0.3.1", "127.0.3.2"];
const OPTIONS = { port: PORT, networks: ["203.0.113.0/24"], exporters: ["127.0.1.0/24", "127.0.2.0/24"] };
const HEADER_BYTES = 14;
const MEMORY_MAX = 64 << 20;

const unavailable = namespacesUnavailable();
const skipped = unavailable === null ? "" : ` (skipped: ${unavailable})`;

describe.skipIf(unavailable !== null)(`a hostile exporter${skipped}`, () => {
  const undo = new Undo();
  let namespace: Namespace;
  let collector: Collector;
  let before: CollectorCounts;

  beforeAll(async () => {
    buildRecordSender();
    const namespaces = new Namespaces();
    undo.add(() => namespaces.close());
    namespace = namespaces.add("collector");
    collector = await Collector.start(namespace, { ...OPTIONS, receiveBuffer: 32 << 20, keepsTotals: true });
    undo.add(() => collector.stop());
    before = await collector.counts();
  });
  afterAll(() => undo.all());

  test.each(["netflow9", "ipfix", "sflow", "netflow5"] as const)(
    `changes nothing of what another says by %s (SEED=${SEED})`,
    async (protocol) => {
      const [sent] = await Promise.all([sendRight(protocol), sendHostile()]);
      const after = await collector.counts();
      expect(after.overruns).toBe(before.overruns);
      expect(gained(before, after)).toEqual(expectedOf(sent, protocol));
      expect(after.refused - before.refused).toBeGreaterThan(100);
      expect(after.hosts["203.0.113.250"]).toBeUndefined();
      expect(statusOf(after, RIGHT)).toMatchObject({ undecoded: [], lostRecords: 0, lostDatagrams: 0 });
      expect(statusOf(after, HOSTILE)?.undecoded.length).toBeGreaterThan(0);
      expect(after.residentBytes - before.residentBytes).toBeLessThan(MEMORY_MAX);
      before = after;
    },
  );

  async function sendRight(protocol: FlowProtocol): Promise<SentTotals> {
    const totals = join(undo.folder("totals"), "totals");
    const traffic = {
      protocol,
      port: PORT,
      from: RIGHT,
      rate: 20_000,
      seconds: SECONDS,
      hosts: 50,
      totals,
      seed: SEED,
    };
    await sendRecords(namespace, traffic);
    return readTotals(totals);
  }

  async function sendHostile(): Promise<void> {
    const script = join(import.meta.dir, "hostile-exporter.ts");
    const words = [PORT, SECONDS, SEED, HOSTILE, ...OUTSIDERS].map(String);
    const command = namespace.command([process.execPath, script, ...words]);
    expect(Number(await outputOf({ name: "hostile exporter", command }))).toBeGreaterThan(100);
  }
});

function statusOf({ exporters }: CollectorCounts, address: string) {
  return exporters.find((exporter) => exporter.address === address);
}

/** What each host got between two readings. */
function gained(before: CollectorCounts, after: CollectorCounts) {
  return Object.fromEntries(
    Object.entries(after.hosts).map(([host, { packets, bytes }]) => {
      const earlier = before.hosts[host] ?? { packets: 0, bytes: 0 };
      return [host, { packets: packets - earlier.packets, bytes: bytes - earlier.bytes }];
    }),
  );
}

/** Flow records count packets of layer 3. */
function expectedOf({ hosts }: SentTotals, protocol: FlowProtocol) {
  const perPacket = protocol === "sflow" ? 0 : HEADER_BYTES;
  return Object.fromEntries(
    Object.entries(hosts).map(([host, { packets, bytes }]) => [host, { packets, bytes: bytes + perPacket * packets }]),
  );
}
