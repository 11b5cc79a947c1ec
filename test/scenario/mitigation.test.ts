/** What the service does about attacks, as a real BIRD sees it: rules, diverts, ladders, and what stands in for them. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findGobgpd } from "../../src/bgp/gobgpd-process.ts";
import { loopback } from "../fixtures/bgp/bgp.ts";
import { type Bird, startBird } from "../fixtures/bgp/bird.ts";
import { eventually, freePort, ServiceProcess } from "../fixtures/service.ts";

const ASN = 64500;
const VICTIM = "203.0.113.7";
const PREFIX = `${VICTIM}/32`;
const BLACKHOLE = "192.0.2.1";
const SCRUBBER = "192.0.2.2";

let directory: string;
let bgpPort: number;
let bird: Bird;
const services: ServiceProcess[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), `floodwall-scenario-${process.pid}-`));
  bgpPort = await freePort();
});

afterEach(async () => {
  for (const service of services.splice(0)) await service.remove();
  const pid = findGobgpd(join(directory, "state/gobgpd/run"));
  if (pid !== null) process.kill(pid, "SIGKILL");
  await bird.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function peer({ takesFlowspec = true } = {}): Promise<void> {
  const session = { name: "floodwall", address: loopback(1), asn: ASN, port: bgpPort, takesFlowspec };
  bird = await startBird({ address: loopback(2), port: bgpPort, asn: ASN, sessions: [session] });
}

async function started(mitigation: string): Promise<ServiceProcess> {
  const config = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dry_run: false
bgp:
  local_asn: ${ASN}
  router_id: ${loopback(1)}
  listen: "${loopback(1)}:${bgpPort}"
  next_hop: ${BLACKHOLE}
  neighbors: [{ address: ${loopback(2)}, remote_asn: ${ASN}, port: ${bgpPort}, multihop_ttl: 4 }]
scrubbing: { next_hop: ${SCRUBBER}, communities: ["64500:2"], local_pref: 300, nodes: [] }
${mitigation}
`;
  const service = await ServiceProcess.start({ config, directory });
  services.push(service);
  await eventually(() => bird.isEstablished("floodwall"), "no session", 20_000);
  return service;
}

const hops = async () => (await bird.routes()).map(({ prefix, nextHop }) => `${prefix} ${nextHop}`);
const rules = async () => (await bird.flows()).map(({ match }) => match);
const inPeer = (expected: { routes: string[]; rules: string[] }) =>
  eventually(
    async () => JSON.stringify([await hops(), await rules()]) === JSON.stringify([expected.routes, expected.rules]),
    `the peer does not have ${JSON.stringify(expected)}`,
    20_000,
  );
const onlyBan = async (service: ServiceProcess) => (await service.get<{ bans: object[] }>("/api/v1/bans")).body.bans[0];

test("a ladder is climbed from rules to a divert to a blackhole, and all is withdrawn with the ban", async () => {
  await peer();
  const service = await started(`escalation:
  - { after_seconds: 0, action: flowspec }
  - { after_seconds: 3, action: divert }
  - { after_seconds: 6, action: blackhole }`);
  const { body } = await service.post("/api/v1/ban", { ip: VICTIM });
  expect(body).toMatchObject({
    method: "flowspec",
    flowspec: [{ dst: PREFIX, action: "discard" }],
    matches_all: true,
    escalation_step: 0,
    escalation: [
      { after_seconds: 0, action: "flowspec" },
      { after_seconds: 3, action: "divert" },
      { after_seconds: 6, action: "blackhole" },
    ],
  });
  await inPeer({ routes: [], rules: [`dst ${PREFIX}`] });
  await inPeer({ routes: [`${PREFIX} ${SCRUBBER}`], rules: [] });
  expect((await bird.routes())[0]).toMatchObject({ communities: ["64500:2"], localPref: 300 });
  await inPeer({ routes: [`${PREFIX} ${BLACKHOLE}`], rules: [] });
  expect(await onlyBan(service)).toMatchObject({ method: "blackhole", escalation_step: 2, community: "65535:666" });
  await service.post("/api/v1/unban", { ip: VICTIM });
  await inPeer({ routes: [], rules: [] });
}, 60_000);

test("rules that no neighbor takes give way to a blackhole, and the ban says why", async () => {
  await peer({ takesFlowspec: false });
  const service = await started("mitigation: flowspec");
  await service.post("/api/v1/ban", { ip: VICTIM });
  await inPeer({ routes: [`${PREFIX} ${BLACKHOLE}`], rules: [] });
  expect(await onlyBan(service)).toMatchObject({
    method: "blackhole",
    fallback: expect.stringContaining("bgp announce failed: "),
  });
}, 60_000);

test("rules stay in the peer while the service is dead, and the next one knows them as its own", async () => {
  await peer();
  const first = await started("mitigation: flowspec");
  await first.post("/api/v1/ban", { ip: VICTIM });
  await inPeer({ routes: [], rules: [`dst ${PREFIX}`] });
  const before = await onlyBan(first);
  await first.stop("SIGKILL");
  expect(await rules()).toEqual([`dst ${PREFIX}`]);
  const second = await started("mitigation: flowspec");
  expect(await onlyBan(second)).toMatchObject({ ...before, announced: expect.any(Boolean) });
  await second.post("/api/v1/unban", { ip: VICTIM });
  await inPeer({ routes: [], rules: [] });
}, 60_000);
