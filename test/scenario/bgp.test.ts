/** The service with a real gobgpd that it manages and a real BIRD as its peer, on loopback. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findGobgpd } from "../../src/bgp/gobgpd-process.ts";
import { loopback } from "../fixtures/bgp/bgp.ts";
import { type Bird, startBird } from "../fixtures/bgp/bird.ts";
import { eventually, freePort, ServiceProcess } from "../fixtures/service.ts";

const ASN = 64500;

let directory: string;
let bgpPort: number;
let bird: Bird;
const services: ServiceProcess[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), `floodwall-scenario-${process.pid}-`));
  bgpPort = await freePort();
  bird = await startBird({
    address: loopback(2),
    port: bgpPort,
    asn: ASN,
    sessions: [{ name: "floodwall", address: loopback(1), asn: ASN, port: bgpPort }],
  });
});

afterEach(async () => {
  for (const service of services.splice(0)) await service.remove();
  const pid = findGobgpd(join(directory, "state/gobgpd/run"));
  if (pid !== null) process.kill(pid, "SIGKILL");
  await bird.stop();
  rmSync(directory, { recursive: true, force: true });
});

const WITHOUT_BGP = `
networks: [203.0.113.0/24, 2001:db8::/32]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
`;

function config({ dryRun = false } = {}): string {
  return `${WITHOUT_BGP}
dry_run: ${dryRun}
bgp:
  local_asn: ${ASN}
  router_id: ${loopback(1)}
  listen: "${loopback(1)}:${bgpPort}"
  next_hop: 192.0.2.1
  communities: ["65535:666", "64500:1"]
  local_pref: 250
  neighbors: [{ address: ${loopback(2)}, remote_asn: ${ASN}, port: ${bgpPort}, multihop_ttl: 4 }]
`;
}

async function started(options: { dryRun?: boolean } = {}): Promise<ServiceProcess> {
  const service = await ServiceProcess.start({ config: config(options), directory });
  services.push(service);
  return service;
}

const isRouted = (prefix: string) => eventually(() => bird.hasRoute(prefix), `${prefix} was not announced`, 20_000);
const isGone = (prefix: string) =>
  eventually(async () => !(await bird.hasRoute(prefix)), `${prefix} was not withdrawn`, 20_000);

describe("a ban", () => {
  test("is in the peer's table with next hop, communities and local preference, and leaves with the unban", async () => {
    const service = await started();
    await service.post("/api/v1/ban", { ip: "203.0.113.7" });
    await service.post("/api/v1/ban", { ip: "2001:db8::7" });
    await isRouted("203.0.113.7/32");
    await isRouted("2001:db8::7/128");
    const routes = await bird.routes();
    expect(
      routes.map(({ prefix, nextHop, communities, localPref }) => ({ prefix, nextHop, communities, localPref })),
    ).toEqual(
      expect.arrayContaining([
        { prefix: "203.0.113.7/32", nextHop: "192.0.2.1", communities: ["64500:1", "65535:666"], localPref: 250 },
        { prefix: "2001:db8::7/128", nextHop: "100::1", communities: ["64500:1", "65535:666"], localPref: 250 },
      ]),
    );
    await service.post("/api/v1/unban", { ip: "203.0.113.7" });
    await isGone("203.0.113.7/32");
    expect(await bird.hasRoute("2001:db8::7/128")).toBe(true);
  });

  test("without a session says that it is not announced, and is when the session comes up", async () => {
    await bird.ask("disable floodwall");
    const service = await started();
    const { body } = await service.post("/api/v1/ban", { ip: "203.0.113.7" });
    expect(body).toMatchObject({ state: "active", announced: false });
    await bird.ask("enable floodwall");
    await isRouted("203.0.113.7/32");
    await eventually(async () => {
      const { bans } = (await service.get<{ bans: { announced?: boolean }[] }>("/api/v1/bans")).body;
      return bans[0]?.announced !== false;
    }, "the ban still says that it is not announced");
    const status = (await service.get<{ bgp: { neighbors: { state: string }[] } }>("/api/v1/status")).body;
    expect(status.bgp.neighbors[0]?.state).toBe("established");
  });

  test("keeps its route while the service is dead, and the next one withdraws it", async () => {
    const first = await started();
    await first.post("/api/v1/ban", { ip: "203.0.113.7" });
    await isRouted("203.0.113.7/32");
    await first.stop("SIGKILL");
    expect(await bird.hasRoute("203.0.113.7/32")).toBe(true);
    const second = await started();
    expect(await bird.hasRoute("203.0.113.7/32")).toBe(true);
    await second.post("/api/v1/unban", { ip: "203.0.113.7" });
    await isGone("203.0.113.7/32");
  });

  test("is withdrawn from the peers by a start in dry run", async () => {
    const first = await started();
    await first.post("/api/v1/ban", { ip: "203.0.113.7" });
    await isRouted("203.0.113.7/32");
    await first.stop("SIGTERM");
    expect(await bird.hasRoute("203.0.113.7/32")).toBe(true);
    const second = await started({ dryRun: true });
    await isGone("203.0.113.7/32");
    expect((await second.get<{ bans: object[] }>("/api/v1/bans")).body.bans[0]).toMatchObject({ dry_run: true });
  });

  test("is withdrawn from the peers by a start whose configuration has no speaker any more", async () => {
    const first = await started();
    await first.post("/api/v1/ban", { ip: "203.0.113.7" });
    await isRouted("203.0.113.7/32");
    await first.stop("SIGTERM");
    services.push(await ServiceProcess.start({ config: WITHOUT_BGP, directory }));
    await isGone("203.0.113.7/32");
    expect(findGobgpd(join(directory, "state/gobgpd/run"))).toBeNull();
  });

  test("is announced again after gobgpd was killed", async () => {
    const service = await started();
    await service.post("/api/v1/ban", { ip: "203.0.113.7" });
    await isRouted("203.0.113.7/32");
    const pid = findGobgpd(join(directory, "state/gobgpd/run"));
    expect(pid).not.toBeNull();
    process.kill(pid as number, "SIGKILL");
    await eventually(
      async () => {
        const { bgp } = (await service.get<{ bgp: { connected: boolean } }>("/api/v1/status")).body;
        const now = findGobgpd(join(directory, "state/gobgpd/run"));
        return bgp.connected && now !== null && now !== pid;
      },
      () => `gobgpd was not started again:\n${service.output}`,
      20_000,
    );
    await isRouted("203.0.113.7/32");
  });
});

test.each([
  ["without bans in force", false],
  ["with virtual bans only", true],
])("a stop %s ends gobgpd too", async (_, dryRun) => {
  const service = await started({ dryRun });
  await eventually(() => findGobgpd(join(directory, "state/gobgpd/run")) !== null, "gobgpd did not start");
  if (dryRun) expect((await service.post("/api/v1/ban", { ip: "203.0.113.7" })).status).toBe(200);
  expect(await service.stop("SIGTERM")).toBe(0);
  expect(findGobgpd(join(directory, "state/gobgpd/run"))).toBeNull();
});
