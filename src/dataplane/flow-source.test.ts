/** Datagrams at a port of loopback become rates of hosts, and what is known of their exporters. */
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { netflow5, netflow9Data, netflow9Template, sflow5 } from "../../test/fixtures/flows/flow-datagrams.ts";
import { exporterRule, FlowReceiver } from "../../test/fixtures/flows/flow-receiver.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { ethernet, ip, protocol, udp } from "../../test/fixtures/packets/frames.ts";
import { encapsulated } from "../../test/fixtures/packets/tunnels.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { addressFromBytes, addressToBytes } from "../net/address.ts";
import { HeaderRecords } from "../traffic/header-record.ts";
import type { FlowSourceOptions } from "./native-flow.d.ts";

const NETWORKS = ["203.0.113.0/24"];
const VICTIM = "203.0.113.1";
const OTHER = "203.0.113.2";
const FLOW = { src: "198.51.100.7", dst: VICTIM, packets: 10, bytes: 5000 };
/** What NetFlow exports is of layer 3; hosts are counted with the Ethernet header. */
const ETHERNET_BYTES = 14;
const FLOWS = `${import.meta.dir}/../../../shared/captures/flows`;
const BURST = { exporters: 100, datagramsEach: 30, records: 24 };

let receiver: FlowReceiver;
afterEach(() => receiver.close());

async function open(options: Partial<FlowSourceOptions>): Promise<void> {
  receiver = await FlowReceiver.open(NETWORKS, options);
}

describe("each protocol counts to the host that its records name", () => {
  test("NetFlow v5, with the sampling rate of its header", async () => {
    await open({ exporters: [exporterRule("127.0.0.2/32")] });
    await receiver.send("127.0.0.2", [netflow5([FLOW], { samplingInterval: 100 })]);
    expect(await receiver.incoming(1000)).toEqual({
      [VICTIM]: { packets: 1000, bytes: 100 * (FLOW.bytes + 10 * ETHERNET_BYTES) },
    });
    const status = await receiver.exporter("127.0.0.2", ({ counted }) => counted === 1);
    expect(status).toMatchObject({ rule: 0, protocols: ["netflow5"], datagrams: 1, records: 1, error: null });
    expect(status.samplings).toMatchObject([{ rate: 100, origin: "header" }]);
  });

  test("NetFlow v9, with data that comes before its template", async () => {
    await open({ exporters: [exporterRule("127.0.0.2/32", { samplingRate: 1 })] });
    await receiver.send("127.0.0.2", [netflow9Data([FLOW], 1), netflow9Template(2), netflow9Data([FLOW, FLOW], 3)]);
    expect(await receiver.incoming(30)).toEqual({
      [VICTIM]: { packets: 30, bytes: 3 * (FLOW.bytes + 10 * ETHERNET_BYTES) },
    });
    const status = await receiver.exporter("127.0.0.2", ({ counted }) => counted === 3);
    expect(status).toMatchObject({ protocols: ["netflow9"], templates: 1, keptSets: 1, recoveredSets: 1 });
    expect(status.undecoded).toEqual([]);
  });

  test("sFlow v5, with the rate of its samples", async () => {
    await open({ exporters: [exporterRule("127.0.0.2/32")] });
    const frame = ethernet(ip({ src: FLOW.src, dst: VICTIM }, udp()), { padTo: 60 });
    await receiver.send("127.0.0.2", [sflow5([frame, frame], { rate: 512 })]);
    expect(await receiver.incoming(1024)).toEqual({ [VICTIM]: { packets: 1024, bytes: 1024 * frame.length } });
    expect(await receiver.exporter("127.0.0.2", ({ counted }) => counted === 2)).toMatchObject({
      protocols: ["sflow5"],
    });
  });
});

test("a sampled header names its exporter, as the exporter's state does, and the interface where it came in", async () => {
  await open({ exporters: [exporterRule("127.0.0.2/32")] });
  const frame = ethernet(ip({ src: FLOW.src, dst: VICTIM }, udp()), { padTo: 60 });
  await receiver.send("127.0.0.2", [sflow5([frame], { rate: 512 })]);
  await receiver.incoming(512);
  const { number, interfaces } = await receiver.exporter("127.0.0.2", ({ counted }) => counted === 1);
  const records = new HeaderRecords(4);
  expect(receiver.engine.readSamples(new Uint8Array(16), records.bytes, 0)).toBe(1);
  expect(number).toBeGreaterThan(0);
  expect(records.reported(0)).toEqual({ ingress: { exporter: number, input: interfaces[0]?.index ?? -1 } });
  expect(records.standsFor(0)).toBe(512);
});

test("a sample of a flow record has what the exporter reported beside the header", async () => {
  await open({ exporters: [exporterRule("127.0.0.2/32")] });
  await receiver.send("127.0.0.2", [netflow5([{ ...FLOW, input: 7, sourceAs: 64_500 }], { samplingInterval: 100 })]);
  await receiver.incoming(1000);
  const { number } = await receiver.exporter("127.0.0.2", ({ counted }) => counted === 1);
  const records = new HeaderRecords(1);
  expect(receiver.engine.readSamples(new Uint8Array(16), records.bytes, 0)).toBe(1);
  expect(records.reported(0)).toEqual({ ingress: { exporter: number, input: 7 }, sourceAs: 64_500 });
  expect(records.isMade(0)).toBe(true);
});

test("sampled packets are taken out of tunnels as the rule says, where a host of ours is inside", async () => {
  await open({ exporters: [exporterRule("127.0.0.2/32", { decapsulate: ["vxlan", "gre", "mpls"] })] });
  const inside = ip({ src: FLOW.src, dst: VICTIM }, udp({ payload: new Uint8Array(100) }));
  const foreign = ip({ src: FLOW.src, dst: "198.51.100.9" }, udp());
  const frames = encapsulated(inside).flatMap(([kind, frame]) => (kind === "vxlan" || kind === "mpls" ? [frame] : []));
  const outer = ethernet(
    ip({ src: "192.0.2.1", dst: OTHER }, protocol(47, Uint8Array.of(0, 0, 8, 0, ...foreign.bytes))),
  );
  await receiver.send("127.0.0.2", [sflow5([...frames, outer], { rate: 10 })]);
  const hosts = await receiver.incoming(10 * (frames.length + 1));
  expect(hosts[VICTIM]?.packets).toBe(10 * frames.length);
  expect(hosts[OTHER]).toEqual({ packets: 10, bytes: 10 * outer.length });
  const records = new HeaderRecords(8);
  const kept = receiver.engine.readSamples(addressToBytes(address(VICTIM)), records.bytes);
  expect(kept).toBe(frames.length);
  for (let i = 0; i < kept; i++) expect(records.frame(i).slice(14, 14 + 20)).toEqual(inside.bytes.slice(0, 20));
});

test("what is of another version is named", async () => {
  await open({ exporters: [exporterRule("127.0.0.2/32")] });
  const versions = [1, 7, 8, 4];
  const datagrams = versions.map((version) => {
    const bytes = new Uint8Array(64);
    bytes[version === 4 ? 3 : 1] = version;
    return bytes;
  });
  await receiver.send("127.0.0.2", [...datagrams, Uint8Array.of(0)]);
  const { undecoded } = await receiver.exporter("127.0.0.2", (status) => status.datagrams === 5);
  const [short, ...named] = undecoded.toSorted((a, b) => a.kind.localeCompare(b.kind));
  expect(short).toMatchObject({ kind: "datagram", count: 1 });
  expect(named.map(({ reason }) => reason)).toEqual(
    versions.map((version) => `version ${version} is not sFlow v5, NetFlow v5, v9 or IPFIX`),
  );
});

test("an exporter whose sampling rate is not known is named, and its records count once", async () => {
  await open({ exporters: [exporterRule("127.0.0.2/32")] });
  await receiver.send("127.0.0.2", [netflow9Template(), netflow9Data([FLOW])]);
  expect(await receiver.incoming(10)).toHaveProperty([VICTIM, "packets"], 10);
  // Whether the rate is known is looked at again with later datagrams.
  const later = setInterval(() => void receiver.send("127.0.0.2", [netflow9Data([])]), 50);
  try {
    const { error } = await receiver.exporter("127.0.0.2", (status) => status.error !== null);
    expect(error).toStartWith("sampling rate of exporter 127.0.0.2 is not known");
  } finally {
    clearInterval(later);
  }
});

test("exporters without a rule are refused until they get one, and those that keep theirs keep their templates", async () => {
  const rule = (host: string) => exporterRule(`${host}/32`, { samplingRate: 1 });
  await open({ exporters: [rule("127.0.0.2")] });
  await receiver.send("127.0.0.2", [netflow9Template(), netflow9Data([FLOW])]);
  await receiver.send("127.0.0.3", [netflow5([FLOW])]);
  expect(await receiver.incoming(10)).toHaveProperty([VICTIM, "packets"], 10);
  const { refused, refusedAddresses } = await receiver.received((now) => now.refusedAddresses.length > 0);
  expect([refused, ...refusedAddresses.map((bytes) => addressFromBytes(bytes))]).toEqual([1, address("127.0.0.3")]);
  receiver.source.setExporters([rule("127.0.0.3"), rule("127.0.0.2")]);
  await receiver.exporter("127.0.0.2", ({ rule }) => rule === 1);
  await receiver.send("127.0.0.2", [netflow9Data([FLOW], 2)]);
  await receiver.send("127.0.0.3", [netflow5([FLOW])]);
  expect(await receiver.incoming(30)).toHaveProperty([VICTIM, "packets"], 30);
});

test("interface roles decide to which side a record counts", async () => {
  await open({ exporters: [exporterRule("127.0.0.2/32", { samplingRate: 1, external: ["1"] })] });
  const out = { src: VICTIM, dst: "198.51.100.7", packets: 7, bytes: 700, input: 2, output: 1 };
  const within = { ...FLOW, input: 2, output: 3 };
  await receiver.send("127.0.0.2", [netflow5([FLOW, out, within])]);
  const status = await receiver.exporter("127.0.0.2", ({ records }) => records === 3);
  expect(status).toMatchObject({ counted: 2, leftOut: { interface: 1, unknown_interface: 0 } });
  expect(await receiver.incoming(10)).toHaveProperty([VICTIM, "packets"], 10);
  expect(await receiver.outgoing()).toEqual({ [VICTIM]: { packets: 7, bytes: 700 + 7 * ETHERNET_BYTES } });
  const roles = status.interfaces.map(({ index, role, recordsIn, packetsOut }) => [index, role, recordsIn, packetsOut]);
  expect(roles).toEqual([
    [1, "external", 1, 7],
    [2, "internal", 2, 10],
    [3, "internal", 0, 10],
  ]);
});

test("of the exporters of a site one counts, and the others are watched", async () => {
  const inSite = (host: string) => exporterRule(`${host}/32`, { samplingRate: 1, site: "fra1" });
  await open({ exporters: [inSite("127.0.0.2"), inSite("127.0.0.3")] });
  await receiver.send("127.0.0.2", [netflow5([FLOW])]);
  await receiver.exporter("127.0.0.2", ({ counted }) => counted === 1);
  await receiver.send("127.0.0.3", [netflow5([FLOW])]);
  const watched = await receiver.exporter("127.0.0.3", ({ records }) => records === 1);
  expect(watched).toMatchObject({ isActive: false, counted: 0, leftOut: { site: 1 } });
  expect(await receiver.incoming(10)).toHaveProperty([VICTIM, "packets"], 10);
});

test("an exporter that sends from several ports has one owner among the threads", async () => {
  await open({ threads: 4, exporters: [exporterRule("127.0.0.0/8", { samplingRate: 1 })] });
  const hosts = Array.from({ length: 16 }, (_, i) => `127.0.1.${i}`);
  for (const host of hosts) {
    await receiver.send(host, [netflow9Template()], "template");
    for (const [i, port] of ["a", "b", "c"].entries()) await receiver.send(host, [netflow9Data([FLOW], 1 + i)], port);
  }
  expect(await receiver.incoming(16 * 3 * 10)).toHaveProperty([VICTIM, "packets"], 480);
  const statuses = await Promise.all(hosts.map((host) => receiver.exporter(host, ({ counted }) => counted === 3)));
  expect(statuses.map(({ templates, keptSets }) => [templates, keptSets])).toEqual(hosts.map(() => [1, 0]));
  expect(receiver.source.exporters({ withInterfaces: false })).toHaveLength(16);
  // A thread says some time later what it has received.
  const busy = () => receiver.source.status().queues.filter(({ receivedPackets }) => receivedPackets > 0);
  await eventually(() => busy().length > 1, "one thread receives from all");
});

test("sockets take both families", async () => {
  await open({
    threads: 2,
    address: addressToBytes(address("::")),
    exporters: [exporterRule("127.0.0.2/32", { samplingRate: 1 }), exporterRule("::1/128", { samplingRate: 1 })],
  });
  await receiver.send("127.0.0.2", [netflow5([FLOW])]);
  await receiver.send("::1", [netflow5([FLOW])]);
  expect(await receiver.incoming(20)).toHaveProperty([VICTIM, "packets"], 20);
  expect((await receiver.exporter("::1", ({ counted }) => counted === 1)).rule).toBe(1);
});

test("a burst of 100 exporters is received, or its loss is counted", async () => {
  await open({ receiveBuffer: 1 << 20, exporters: [exporterRule("127.0.0.0/8", { samplingRate: 1 })] });
  const flows = new Array(BURST.records).fill(FLOW);
  const burst = Array.from({ length: BURST.datagramsEach }, (_, i) => netflow9Data(flows, 1 + i));
  const hosts = Array.from({ length: BURST.exporters }, (_, i) => `127.0.2.${i}`);
  for (const host of hosts) await receiver.send(host, [netflow9Template()]);
  await Promise.all(hosts.map((host) => receiver.send(host, burst)));
  const sent = BURST.exporters * (1 + BURST.datagramsEach);
  const { datagrams, overruns } = await receiver.received((now) => now.datagrams + now.overruns === sent);
  expect(datagrams + overruns).toBe(sent);
  // What exporters said is shown a moment later.
  const templates = () =>
    receiver.source.exporters({ withInterfaces: false }).reduce((sum, now) => sum + now.templates, 0);
  while (templates() < BURST.exporters) await Bun.sleep(10);
  expect(templates()).toBe(BURST.exporters);
});

test("a port that another process has is named, and so is what the machine does not have", async () => {
  await open({});
  const again = (options: Partial<FlowSourceOptions>) => () =>
    receiver.engine.openFlowSource({
      ...{ address: addressToBytes(address("0.0.0.0")), port: receiver.port, threads: 1 },
      ...{ receiveBuffer: 1 << 20, cpus: [], exporters: [], saved: null, ...options },
    });
  expect(again({})).toThrow(/cannot receive flows at UDP 0\.0\.0\.0:\d+: another process has the port/);
  expect(again({ threads: 2 })).toThrow(/another process has the port/);
  expect(again({ address: addressToBytes(address("192.0.2.77")) })).toThrow(/this machine does not have the address/);
  expect(again({ threads: 0 })).toThrow(/threads must be from 1 to 64/);
  expect(again({ receiveBuffer: 1 })).toThrow(/receiveBuffer must be from/);
  expect(again({ exporters: [exporterRule("127.0.0.2/32", { external: ["9-1"] })] })).toThrow(
    /range of interfaces 9-1/,
  );
  expect(receiver.source.status()).toMatchObject({ state: "running", error: null });
  expect(receiver.source.status().mode).toContain("any exporter, at most 64: none is configured");
});

test("a source that is closed says so", async () => {
  await open({});
  receiver.source.close();
  receiver.source.close();
  expect(() => receiver.source.exporters({ withInterfaces: false })).toThrow("flow source is closed");
});

const skipped = existsSync(FLOWS) ? "" : ` (skipped: no captures in ${FLOWS})`;
test.skipIf(skipped !== "")(`records of real devices reach hosts${skipped}`, async () => {
  receiver = await FlowReceiver.open(["0.0.0.0/0"], { exporters: [exporterRule("127.0.0.0/8", { samplingRate: 1 })] });
  const file = (name: string) => readFileSync(`${FLOWS}/${name}.dat`);
  await receiver.send("127.0.0.2", [file("netflow9_test_softflowd_tpl_data")]);
  await receiver.send("127.0.0.3", [file("ipfix_test_openbsd_pflow_tpl"), file("ipfix_test_openbsd_pflow_data")]);
  await receiver.send("127.0.0.4", [file("netflow5_test_juniper_mx80")]);
  for (const [host, protocol] of [
    ["127.0.0.2", "netflow9"],
    ["127.0.0.3", "ipfix"],
    ["127.0.0.4", "netflow5"],
  ] as const) {
    const status = await receiver.exporter(host, ({ records }) => records > 0);
    expect([status.protocols, status.undecoded, status.missingTemplates]).toEqual([[protocol], [], []]);
  }
});

test("what an exporter said is known to the source of a later process, with its number", async () => {
  // A router sends from the same port, whatever happens here.
  const router = await Bun.udpSocket({ hostname: "127.0.0.2" });
  const send = (datagram: Uint8Array) => router.send(datagram, receiver.port, "127.0.0.1");
  await open({});
  send(netflow9Template(0));
  send(netflow9Data([FLOW], 1));
  await receiver.incoming(10);
  const { number } = await receiver.exporter("127.0.0.2", ({ records }) => records === 1);
  let saved = receiver.source.saved();
  // It is saved within a second or so.
  for (; saved.length < 100; saved = receiver.source.saved()) await Bun.sleep(20);
  await receiver.close();
  await open({ saved });
  await receiver.send("127.0.0.3", [netflow5([{ ...FLOW, packets: 1 }])]);
  await receiver.exporter("127.0.0.3", ({ records }) => records === 1);
  send(netflow9Data([FLOW, FLOW], 77));
  await receiver.incoming(21);
  const status = await receiver.exporter("127.0.0.2", ({ records }) => records === 2);
  expect(status).toMatchObject({ number, templates: 1, missingTemplates: [], lostDatagrams: 0 });
  router.close();
});
