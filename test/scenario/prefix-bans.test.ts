/** Floods that are spread over a prefix, by the whole service: a real BIRD has the prefix, wider as they widen, and loses it. */
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findGobgpd } from "../../src/bgp/gobgpd-process.ts";
import { loopback } from "../fixtures/bgp/bgp.ts";
import { type Bird, startBird } from "../fixtures/bgp/bird.ts";
import { type CapturedFrame, evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { eventually, freePort, ServiceProcess } from "../fixtures/service.ts";

const ASN = 64500;
const HOSTS = 100;
const PPS = 4000;
const START_MS = 1_700_000_000_000;
const NARROW = "203.0.113.0/24";
const WIDE = "203.0.112.0/23";
const SITE = "2001:db8:7::/48";

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** From `startSeconds` on, each host in turn. */
function flood(hosts: readonly string[], startSeconds: number, seconds: number, src: string): CapturedFrame[] {
  const frames = hosts.map((dst) =>
    ethernet(ip({ src, dst }, udp({ sourcePort: 53, destinationPort: 4000, payload: new Uint8Array(400) }))),
  );
  const all = Array.from({ length: seconds * PPS }, (_, i) => frames[i % frames.length] as Uint8Array);
  return evenly(all, { startMs: START_MS + startSeconds * 1000, stepMs: 1000 / PPS });
}

const hostsOf = (third: number) => Array.from({ length: HOSTS }, (_, i) => `203.0.${third}.${i + 1}`);

interface Lab {
  readonly bird: Bird;
  readonly start: (sections: string) => Promise<ServiceProcess>;
}

async function lab(): Promise<Lab> {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-prefix-bans-${process.pid}-`));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  const session = { name: "floodwall", address: loopback(1), asn: ASN, port };
  const bird = await startBird({ address: loopback(2), port, asn: ASN, sessions: [session] });
  undo.push(() => bird.stop());
  undo.push(() => {
    const pid = findGobgpd(join(directory, "state/gobgpd/run"));
    if (pid !== null) process.kill(pid, "SIGKILL");
  });
  const start = async (sections: string) => {
    const config = `
dry_run: false
networks: [203.0.112.0/22, "2001:db8::/32"]
thresholds: { pps: 1000, mbps: 1000, flows_per_sec: 100000 }
ban: { unban_hysteresis_seconds: 1 }
bgp:
  local_asn: ${ASN}
  router_id: ${loopback(1)}
  listen: "${loopback(1)}:${port}"
  next_hop: 192.0.2.1
  neighbors: [{ address: ${loopback(2)}, remote_asn: ${ASN}, port: ${port}, multihop_ttl: 4 }]
${sections}`;
    const service = await ServiceProcess.start({ directory, config });
    undo.push(() => service.remove());
    return service;
  };
  return { bird, start };
}

function capture(...parts: readonly CapturedFrame[][]): string {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-capture-${process.pid}-`));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "flood.pcap");
  const frames = parts.flat().sort((a, b) => Number(a.atNs - b.atNs));
  writeFileSync(path, pcapBytes(frames));
  return `capture: { pcap_file: ${path}, pace: real }\n`;
}

const carpet = (mitigation: string) => `carpet: { thresholds: { pps: 1500 }, mitigation: ${mitigation} }\n`;

test("a prefix is blackholed, the ban follows as the flood widens, outlasts a kill, and is lifted by its first address", async () => {
  const { bird, start } = await lab();
  const source = "198.51.100.9";
  const packets = capture(flood(hostsOf(113), 0, 14, source), flood(hostsOf(112), 5, 9, source));
  const first = await start(carpet("blackhole") + packets);
  await eventually(async () => String(await bird.prefixes()) === NARROW, `no ${NARROW} in BIRD`, 20_000);
  expect((await bird.routes())[0]).toMatchObject({ nextHop: "192.0.2.1", communities: ["65535:666"] });

  // Until the wider one is alone there: at no moment is there none.
  const seen = new Set<string>();
  await eventually(
    async () => {
      const prefixes = String(await bird.prefixes());
      seen.add(prefixes);
      return prefixes === WIDE;
    },
    `no ${WIDE} alone in BIRD`,
    20_000,
  );
  expect(seen).not.toContain("");
  const bans = async (service: ServiceProcess) =>
    (await service.get<{ bans: Record<string, unknown>[] }>("/api/v1/bans")).body.bans;
  const before = await bans(first);
  expect(before).toMatchObject([{ target: "203.0.112.0", prefix: WIDE, state: "active", method: "blackhole" }]);
  const { active } = (await first.get<{ active: object[] }>("/api/v1/attacks")).body;
  expect(active).toMatchObject([{ scope: "group", prefix: WIDE, ban_state: "active", method: "blackhole" }]);

  await first.stop("SIGKILL");
  expect(await bird.prefixes()).toEqual([WIDE]);
  // Nobody sees how the attack goes on: its ban stays until it expires or is lifted.
  const second = await start(carpet("blackhole"));
  const { prefix, started_at } = before[0] ?? {};
  expect(await bans(second)).toMatchObject([{ prefix, started_at, state: "active" }]);
  expect((await second.get<{ active: object[] }>("/api/v1/attacks")).body.active).toEqual([]);
  expect((await second.post("/api/v1/unban", { ip: "203.0.112.7" })).status).toBe(404);
  const lifted = await second.post("/api/v1/unban", { ip: "203.0.112.0" });
  expect(lifted).toMatchObject({ status: 200, body: { prefix: WIDE, state: "withdrawn", reason: "manual unban" } });
  await eventually(async () => (await bird.prefixes()).length === 0, `${WIDE} is still in BIRD`, 20_000);
}, 120_000);

test("rules are for the whole prefix, of IPv6 too, and go with the flood; a whitelisted address keeps its prefix free", async () => {
  const { bird, start } = await lab();
  const site = Array.from({ length: HOSTS }, (_, i) => `2001:db8:7:${(i + 1).toString(16)}::1`);
  const packets = capture(
    flood(site, 0, 7, "2001:db8:ffff::9"),
    flood(hostsOf(113), 0, 7, "198.51.100.9"),
    // Something to go by when the floods are over.
    evenly(new Array<Uint8Array>(50).fill(ethernet(ip({ src: "192.0.2.7", dst: "203.0.115.9" }, udp()))), {
      startMs: START_MS + 7000,
      stepMs: 100,
    }),
  );
  const service = await start(`protected_whitelist: [203.0.113.200]\n${carpet("flowspec")}${packets}`);
  const flows = async () => (await bird.flows()).map(({ match }) => match);
  await eventually(async () => (await flows()).length === 1, "no rule in BIRD", 20_000);
  expect((await flows())[0]).toStartWith(`dst ${SITE}; next header 17; `);
  const { bans } = (await service.get<{ bans: object[] }>("/api/v1/bans")).body;
  expect(bans).toMatchObject([
    { target: "203.0.113.0", prefix: NARROW, state: "rejected", reason: "whitelisted" },
    { target: "2001:db8:7::", prefix: SITE, state: "active", flowspec: [{ dst: SITE, proto: 17, src_port: 53 }] },
  ]);
  expect(await bird.prefixes()).toEqual([]);
  await eventually(async () => (await bird.flowCount()) === 0, "the rule is still in BIRD", 30_000);
}, 120_000);
