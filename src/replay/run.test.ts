/** `floodwall replay`: captures through the packet counter, detection and the bans, as text and as JSON Lines. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { Value } from "@sinclair/typebox/value";
import { evenly, pcapBytes } from "../../test/fixtures/captures/pcap-writer.ts";
import { ASN_FILE, COUNTRY_FILE } from "../../test/fixtures/origin-file.ts";
import { ethernet, ip, udp } from "../../test/fixtures/packets/frames.ts";
import { datagram, flood, replayed } from "../../test/fixtures/replay-command.ts";
import { TemporaryFolder } from "../../test/fixtures/temporary-folder.ts";
import { AttackWire } from "../http/wire/attack.ts";
import { BanWire } from "../http/wire/ban.ts";

const VICTIM = "203.0.113.7";
const CONFIG = `
networks: [203.0.113.0/24, 2001:db8::/32]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000 }
ban: { unban_hysteresis_seconds: 1 }
bgp: { local_asn: 64500, router_id: 192.0.2.1, next_hop: 192.0.2.9, neighbors: [{ address: 192.0.2.2, remote_asn: 64500 }] }
`;
const FRAME_BYTES = 14 + 20 + 8 + 400;
const QUIET = "attacks: 0, still in progress at the end: 0";

const payload = new Uint8Array(400);
const sent = ethernet(ip({ src: VICTIM, dst: "198.51.100.9" }, udp({ payload })));
/** 3,000 packets a second over 100 hosts of one /25. */
const spread = pcapBytes(
  evenly(
    Array.from({ length: 9000 }, (_, i) => datagram(`203.0.113.${i % 100}`)),
    { stepMs: 1 / 3 },
  ),
);
/** 200 packets a second for ten seconds, then 800 for two. */
const risen = pcapBytes([
  ...evenly(new Array<Uint8Array>(2000).fill(datagram(VICTIM)), { stepMs: 5 }),
  ...evenly(new Array<Uint8Array>(1500).fill(datagram(VICTIM)), { startMs: 1_700_000_010_000, stepMs: 1.25 }),
]);

test("reports attack, ban and end with the capture's times", async () => {
  const { exitCode, lines } = await replayed(flood(datagram(VICTIM), 10_000, 3), CONFIG);
  const text = lines.join("\n");
  expect(exitCode).toBe(0);
  // 10,000 packets a second cross 1,000 in a window after a tenth of a second.
  expect(text).toMatch(/2023-11-14T22:13:20\.[12]\d\dZ {2}attack started {2}203\.0\.113\.7 {2}pps \d+ > 1000/);
  expect(text).toContain("ban             203.0.113.7/32 next-hop 192.0.2.9 community 65535:666");
  expect(text).toMatch(/attack ended {4}203\.0\.113\.7/);
  expect(text).toContain("ban withdrawn   203.0.113.7/32  attack ended");
  expect(text).toContain("30020 packets: 30020 counted, 0 untracked, 0 of no configured network");
  expect(text).toContain("attacks: 1, still in progress at the end: 0");
});

describe("sees nothing by the thresholds of hosts, and with a section of its own", () => {
  test.each([
    [
      "what a host sends",
      flood(sent, 900, 2),
      "thresholds_outgoing: { pps: 500 }",
      [/attack started {2}203\.0\.113\.7 outgoing {2}pps \d+ > 500/, /attack ended {4}203\.0\.113\.7 outgoing/],
    ],
    [
      "a hostgroup that is judged as a whole",
      spread,
      "hostgroups: [{ name: web, networks: [203.0.113.0/25], calculation: total }]",
      [
        /attack started {2}hostgroup web {2}pps \d+ > 1000/,
        /attack vector {3}hostgroup web {2}udp_flood, confidence 1\.00/,
        /attack sample {3}hostgroup web {2}udp 100 %, from 198\.51\.100\.9 100 %.* of \d+ packets/,
      ],
    ],
    [
      "an attack that is spread over a prefix",
      spread,
      "carpet: { thresholds: { pps: 2000 } }",
      [
        /attack started {2}203\.0\.113\.0\/24 \(100 hosts\) {2}pps \d+ > 2000/,
        /attack vector {3}203\.0\.113\.0\/24 {2}udp_flood, confidence 1\.00/,
      ],
    ],
    [
      "more than is normal for a host",
      risen,
      "baseline: { warmup_seconds: 5, floor: { pps: 300, mbps: 50, flows_per_sec: 1000 } }",
      [/attack started {2}203\.0\.113\.7 {2}pps [678]\d\d > (59\d|6[01]\d)/],
    ],
  ])("%s", async (_, capture, section, expected) => {
    expect((await replayed(capture, CONFIG)).lines.at(-1)).toBe(QUIET);
    const text = (await replayed(capture, `${CONFIG}${section}\n`)).lines.join("\n");
    for (const line of expected) expect(text).toMatch(line);
    // What is no single host's own is not banned.
    if (capture === spread) expect(text).not.toContain("ban ");
  });
});

interface Line extends Readonly<Record<string, unknown>> {
  readonly event: string;
  readonly at: string;
  readonly attack: AttackWire;
  readonly ban: BanWire;
}

async function events(capture: Uint8Array, config = CONFIG) {
  const { exitCode, lines } = await replayed(capture, config, { format: "json" });
  const reported = lines.map((line) => JSON.parse(line) as Line);
  const first = (name: string) => reported.find(({ event }) => event === name);
  return { exitCode, reported, first, summary: reported.at(-1) as Line };
}

/** Of ten packets to the victim six come from .1, three from .2 and one from .3, all from port 53; others pass by. */
function reflectedFlood(): Uint8Array {
  const bystander = ethernet(ip({ src: "192.0.2.77", dst: "203.0.113.99" }, udp({ sourcePort: 7 })));
  const answer = (i: number) => {
    const src = `198.51.100.${i % 11 < 6 ? 1 : i % 11 < 9 ? 2 : 3}`;
    return ethernet(ip({ src, dst: VICTIM }, udp({ sourcePort: 53, destinationPort: 20_000 + (i % 2), payload })));
  };
  const frames = Array.from({ length: 15_000 }, (_, i) => (i % 11 === 10 ? bystander : answer(i)));
  const calm = evenly(new Array<Uint8Array>(20).fill(bystander), { startMs: 1_700_000_003_000, stepMs: 100 });
  return pcapBytes([...evenly(frames, { stepMs: 0.2 }), ...calm]);
}

describe("as JSON Lines", () => {
  const group = "hostgroups: [{ name: web, networks: [203.0.113.0/28], tenant: acme }]\nmitigation: flowspec\n";

  test("reports an attack from its start to its end, with the rows of the API and the capture's times", async () => {
    const { reported, first } = await events(reflectedFlood(), CONFIG + group);
    const wanted = ["attack_started", "ban_active", "ban_changed", "attack_classified", "attack_ended"];
    expect(reported.map(({ event }) => event)).toEqual([...wanted, "ban_withdrawn", "summary"]);
    for (const { attack, ban } of reported) {
      if (attack !== undefined) expect([...Value.Errors(AttackWire, attack)]).toEqual([]);
      if (ban !== undefined) expect([...Value.Errors(BanWire, ban)]).toEqual([]);
    }
    const started = first("attack_started");
    expect(started?.at).toMatch(/^2023-11-14T22:13:20\.[123]00Z$/);
    expect(started?.attack).toMatchObject({
      target: VICTIM,
      group: "web",
      tenant: "acme",
      metric: "pps",
      threshold: 1000,
    });
    const ended = first("attack_ended");
    expect(ended?.attack).toMatchObject({
      ...{ id: started?.attack.id, active: false, started_at: started?.at, ended_at: ended?.at },
      classification: { type: "dns_amplification", src_port: 53 },
      ban_state: "withdrawn",
    });
    const changed = { method: "flowspec", flowspec: [{ src_port: 53 }], dry_run: true };
    expect(first("ban_changed")?.ban).toMatchObject(changed);
    expect(first("ban_withdrawn")?.ban).toMatchObject({ prefix: `${VICTIM}/32`, reason: "attack ended" });
  });

  test("a sample shows who sent what to which ports, as long as the configuration says", async () => {
    const sampleBy = async (section: string) =>
      (await events(reflectedFlood(), CONFIG + section)).first("attack_ended")?.attack.sample;
    const keys = (shares: readonly { readonly key: string }[] = []) => shares.map(({ key }) => key);
    const sample = await sampleBy("");
    const total = sample?.total_packets ?? 0;
    expect(total).toBeGreaterThanOrEqual(64);
    expect(keys(sample?.top_sources)).toEqual(["198.51.100.1", "198.51.100.2", "198.51.100.3"]);
    expect(sample?.top_src_ports).toEqual([{ key: "53", packets: total, bytes: total * FRAME_BYTES }]);
    expect(keys(sample?.top_dst_ports).toSorted()).toEqual(["20000", "20001"]);
    expect(sample?.protocols).toEqual([{ key: "udp", packets: total, bytes: total * FRAME_BYTES }]);
    expect(sample?.top_sources.reduce((sum, { packets }) => sum + packets, 0)).toBe(total);
    // Six of ten: at 64 packets or more, less than half or more than three quarters is beyond chance.
    expect((sample?.top_sources[0]?.packets ?? 0) / total).toBeWithin(0.4, 0.8);
    expect(sample?.flows).toHaveLength(20);
    for (const flow of sample?.flows ?? []) {
      expect(flow).toMatchObject({ dst: VICTIM, proto: "udp", src_port: 53, bytes: FRAME_BYTES });
    }
    const short = await sampleBy("samples: { top: 1, per_attack_flows: 0 }\n");
    expect(keys(short?.top_sources)).toEqual(["198.51.100.1"]);
    expect(short).not.toHaveProperty("flows");
    expect(await sampleBy("samples: { enabled: false }\n")).toBeUndefined();
  });

  test("sums up last: packets of all kinds, attacks and bans", async () => {
    const of = (count: number, frame: Uint8Array) => new Array<Uint8Array>(count).fill(frame);
    const frames = [...of(10, datagram(VICTIM)), ...of(5, datagram("192.0.2.77")), ...of(3, new Uint8Array(10))];
    expect<unknown>((await events(pcapBytes(evenly(frames)))).summary).toEqual({
      event: "summary",
      capture: expect.stringMatching(/capture\.pcap$/),
      started_at: expect.stringMatching(/^2023-11-14T22:13:20\./),
      ended_at: expect.stringMatching(/^2023-11-14T22:13:21\./),
      packets: { received: 18, counted: 10, untracked: 0, foreign: 5, parse_errors: { truncated_ethernet: 3 } },
      attacks: { total: 0, lasting: 0, refused: 0, packets: 0, bits: 0, peak_pps: 0, peak_mbps: 0 },
      bans: { active: 0, withdrawn: 0, rejected: 0 },
      unjudged_rows: 0,
    });
  });

  test("says what frames were that are not IP", async () => {
    const other = (etherType: number) => ethernet({ etherType, bytes: new Uint8Array(46) });
    const capture = pcapBytes(evenly([other(0x0806), other(0x88cc), other(0x0806), datagram(VICTIM)]));
    const { summary } = await events(capture);
    expect(summary).toMatchObject({
      packets: { parse_errors: { not_ip: 3 }, ether_types: { "0x0806": 2, "0x88cc": 1 } },
    });
    const { lines } = await replayed(capture, CONFIG);
    expect(lines).toContain("3 not counted: not_ip (ARP 0x0806: 2, LLDP 0x88cc: 1)");
  });

  test("names attacks that still go on at the end of the capture, and bans that are refused", async () => {
    const config = `${CONFIG.replace("seconds: 1", "seconds: 100")}protected_whitelist: [${VICTIM}]\n`;
    const { reported, summary } = await events(flood(datagram(VICTIM), 5000, 2), config);
    expect(reported.filter(({ event }) => event === "ban_rejected")).toHaveLength(1);
    expect(reported.at(-2)).toMatchObject({ event: "attack_lasts", attack: { active: true, ban_state: "rejected" } });
    expect(summary).toMatchObject({
      attacks: { total: 1, lasting: 1 },
      bans: { active: 0, withdrawn: 0, rejected: 1 },
    });
  });
});

test("takes VXLAN apart at the configured ports", async () => {
  const inner = Uint8Array.from([8, 0, 0, 0, 0, 0, 7, 0, ...datagram(VICTIM)]);
  const outer = ip({ src: "192.0.2.1", dst: "192.0.2.2" }, udp({ destinationPort: 8472, payload: inner }));
  const capture = pcapBytes(evenly([ethernet(outer)]));
  const config = `${CONFIG}capture: {pcap_file: /tmp/none, decapsulate: [vxlan]`;
  expect((await events(capture, `${config}}\n`)).summary).toMatchObject({ packets: { foreign: 1 } });
  const named = await events(capture, `${config}, vxlan_ports: [4789, 8472]}\n`);
  expect(named.summary).toMatchObject({ packets: { counted: 1 } });
});

test("of a damaged capture reports what came before and why it ends, with an exit code of its own", async () => {
  const whole = flood(datagram(VICTIM), 1000, 1);
  const damaged = whole.subarray(0, whole.length - 50);
  const { exitCode, summary } = await events(damaged);
  expect(exitCode).toBe(3);
  expect(summary).toMatchObject({ packets: { received: 1019 }, error: expect.stringContaining("is damaged") });
  expect((await replayed(damaged, CONFIG)).lines.join("\n")).toMatch(/1019 packets[\s\S]*the capture ends early/);
});

test("reports where the sources of an attack are", async () => {
  using directory = new TemporaryFolder("origins");
  const [asn, country] = [directory.at("asn.mmdb"), directory.at("country.mmdb")];
  writeFileSync(asn, ASN_FILE());
  writeFileSync(country, COUNTRY_FILE());
  const config = `${CONFIG}samples: { asn_file: ${asn}, country_file: ${country} }\n`;
  const capture = flood(datagram(VICTIM), 5000, 2);
  const sample = (await events(capture, config)).first("attack_ended")?.attack.sample;
  const { packets = 0, bytes = 0 } = sample?.top_sources[0] ?? {};
  expect(packets).toBeGreaterThan(0);
  const origin = { asn: 64500, as_name: "Example Net", country: "DE" };
  expect(sample?.top_sources).toEqual([{ key: "198.51.100.9", packets, bytes, ...origin }]);
  expect(sample?.top_asns).toEqual([{ key: "AS64500 Example Net", packets, bytes }]);
  expect(sample?.top_countries).toEqual([{ key: "DE", packets, bytes }]);
  const text = (await replayed(capture, config)).lines.join("\n");
  expect(text).toContain("from 198.51.100.9 100 % (AS64500 Example Net 100 %, DE 100 %), ports");
});

describe("a replay", () => {
  /** More packets than are kept, of many senders. */
  const crowd = pcapBytes(
    evenly(
      Array.from({ length: 60_000 }, (_, i) => datagram(VICTIM, `198.51.${(i * 7) & 255}.${(i * 13) & 255}`)),
      { stepMs: 1 / 30 },
    ),
  );

  test("repeats itself to the byte, and another seed chooses other packets", async () => {
    // Without the last line, which names the file.
    const lines = async (seed: number) =>
      (await replayed(crowd, CONFIG, { format: "json", seed })).lines.slice(0, -1).join("\n");
    const first = await lines(0);
    expect(await lines(0)).toBe(first);
    expect(await lines(1)).not.toBe(first);
  });
});
