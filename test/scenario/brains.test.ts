/**
 * Two whole services that are a pair, each its own process with a state of its own, over real TLS: what operators order
 * at one is in force at the other. Control plane alone: no packet is counted. Each test has a victim of its own, and
 * leaves both running and connected.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { Authority } from "../fixtures/cluster/authority.ts";
import { HostilePeer } from "../fixtures/cluster/hostile-peer.ts";
import { BRAINS, ServicePair } from "../fixtures/cluster/service-pair.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const MORE = `
dataplane: { interfaces: [fw-absent0] }
scrub_profiles: [{ name: voice, tcp: reset, services: [{ protocol: udp, ports: ["5060"] }] }]
`;
const ZONES = "zones: [{ name: shop.example.net, origins: ['192.0.2.80:443'] }]\n";
const [SOURCE, VICTIM] = ["198.51.100.9", "192.0.2.9"];

type Row = Readonly<Record<string, unknown>>;

let authority: Authority;
let pair: ServicePair;
let victims = 10;
let ip: string;

beforeAll(async () => {
  authority = new Authority();
  for (const name of BRAINS) authority.issue(name);
  const zones = authority.path("zones.yaml");
  await Bun.write(zones, ZONES);
  pair = await ServicePair.start(authority, `${MORE}edge: { zones_file: ${zones}, nodes: [{ name: e1 }] }\n`);
}, 60_000);
afterAll(async () => {
  await pair.stop();
  authority.remove();
}, 60_000);
beforeEach(() => {
  victims += 1;
  ip = `192.0.2.${victims}`;
});

/** Of its list those with these fields. */
async function rows(service: ServiceProcess, path: string, fields: Row = {}): Promise<readonly Row[]> {
  const { body } = await service.get<Readonly<Record<string, readonly Row[]>>>(`/api/v1/${path}`);
  const all: readonly Row[] = Object.values(body).find(Array.isArray) ?? [];
  return all.filter((row) => Bun.deepMatch(fields, row));
}

const bans = (service: ServiceProcess) => rows(service, "bans", { target: ip });

/** Until the other brain shows that ban; orders are confirmed before they are answered, unless a brain was away. */
async function showsBan(service: ServiceProcess, expected: Row): Promise<void> {
  let last: readonly Row[] = [];
  await eventually(
    async () => {
      last = await bans(service);
      return Bun.deepMatch([expected], last) && last.length === 1;
    },
    () => `${JSON.stringify(last)} for ${JSON.stringify(expected)}`,
  );
}

const ban = (service: ServiceProcess, reason: string) =>
  service.post<BanWire>("/api/v1/ban", { ip, ttl_seconds: 3600, reason });
const unban = (service: ServiceProcess) => service.post<BanWire>("/api/v1/unban", { ip, reason: "done" });

describe("an order at one brain is in force at the other when it is answered", () => {
  test("a ban, with its begin and end, and its unban, which says who and why", async () => {
    const answer = await ban(pair.first, "ticket 7");
    expect([answer.status, "shared" in answer.body, "unconfirmed_by" in answer.body]).toEqual([200, false, false]);
    const { started_at, expires_at } = answer.body;
    expect(await bans(pair.second)).toMatchObject([
      { state: "active", manual: true, order_reason: "ticket 7", started_at, expires_at },
    ]);
    const lifted = await unban(pair.second);
    expect([lifted.status, lifted.body.state, "shared" in lifted.body]).toEqual([200, "withdrawn", false]);
    expect(await bans(pair.first)).toMatchObject([{ state: "withdrawn", reason: "manual unban", end_reason: "done" }]);
  });

  test("orders of every other table, and their ends", async () => {
    const pairOf = { source: SOURCE, victim: VICTIM };
    const orders: readonly [
      place: () => Promise<{ status: number }>,
      path: string,
      row: Row,
      end: () => Promise<{ status: number }>,
    ][] = [
      [
        () => pair.first.post("/api/v1/dataplane/sources", { ...pairOf, ttl_seconds: 600, reason: "a" }),
        "dataplane/sources",
        { ...pairOf, reason: "a" },
        () => pair.second.post("/api/v1/dataplane/sources/unblock", pairOf),
      ],
      [
        () =>
          pair.second.post("/api/v1/filter-rules", {
            ...{ name: "no-chargen", action: "drop", protocol: "udp", source_ports: ["19"], ttl_seconds: 600 },
          }),
        "filter-rules",
        { name: "no-chargen", origin: "order" },
        () => pair.first.order("DELETE", "/api/v1/filter-rules/no-chargen", {}),
      ],
      [
        () => pair.first.order("PUT", "/api/v1/protection/192.0.2.0%2F25", { profile: "voice", note: "n" }),
        "protection",
        { prefix: "192.0.2.0/25", choice: { profile: "voice", note: "n" } },
        () => pair.second.order("DELETE", "/api/v1/protection/192.0.2.0%2F25", {}),
      ],
      [
        () => pair.first.post("/api/v1/maintenance", { name: "move", quiet: true, ttl_seconds: 600 }),
        "maintenance",
        { name: "move", quiet: true, open: true },
        () => pair.second.order("DELETE", "/api/v1/maintenance/move", {}),
      ],
    ];
    for (const [place, path, row, end] of orders) {
      expect(await place()).toMatchObject({ status: 200 });
      for (const service of [pair.first, pair.second]) expect(await rows(service, path, row)).toHaveLength(1);
      expect(await end()).toMatchObject({ status: 200 });
      const key = Object.fromEntries(Object.entries(row).slice(0, 1));
      for (const service of [pair.first, pair.second]) expect(await rows(service, path, key)).toEqual([]);
    }
  });

  test("a lever", async () => {
    const path = "/api/v1/edge/zones/shop.example.net/challenge";
    const levers = async (service: ServiceProcess) =>
      (await rows(service, "edge/zones/status")).map(({ override }) => override);
    expect((await pair.first.post(path, { mode: "manual", ttl_seconds: 600, reason: "r" })).status).toBe(200);
    for (const service of [pair.first, pair.second]) expect(await levers(service)).toMatchObject([{ reason: "r" }]);
    expect((await pair.second.order("DELETE", path, {})).status).toBe(200);
    for (const service of [pair.first, pair.second]) expect(await levers(service)).toEqual([undefined]);
  });
});

describe("a brain that was away", () => {
  test("gets what was ordered meanwhile, whichever of them it is; the answer says that it has not #shared", async () => {
    for (const away of ["second", "first"] as const) {
      const here = away === "first" ? "second" : "first";
      await pair.end(away);
      const answer = await ban(pair[here], `while ${away} is away`);
      expect(answer.body).toMatchObject({ shared: false, unconfirmed_by: [away === "first" ? "brain1" : "brain2"] });
      await pair.again(away);
      await showsBan(pair[away], { state: "active", order_reason: `while ${away} is away` });
    }
  });

  test("does not bring back what was ended meanwhile", async () => {
    await ban(pair.first, "a");
    await pair.end("first", "SIGKILL");
    const lifted = await unban(pair.second);
    expect(lifted.body).toMatchObject({ state: "withdrawn", shared: false, unconfirmed_by: ["brain1"] });
    await pair.again("first");
    await showsBan(pair.first, { state: "withdrawn" });
    await showsBan(pair.second, { state: "withdrawn" });
  });

  test("killed after it answered, it has lost nothing, and the other has it", async () => {
    const { in_force: inForce = 0, ended = 0 } = (await pair.clusterAt(pair.first)).orders ?? {};
    expect((await ban(pair.first, "a")).body.state).toBe("active");
    await pair.end("first", "SIGKILL");
    expect(await bans(pair.second)).toMatchObject([{ state: "active", order_reason: "a" }]);
    await pair.again("first");
    expect(await bans(pair.first)).toMatchObject([{ state: "active", order_reason: "a" }]);
    expect((await pair.clusterAt(pair.first)).orders).toMatchObject({ in_force: inForce + 1, waiting: 0, ended });
  });
});

describe("in a split", () => {
  test("each brain takes orders, and afterwards the newest of a key is in force at both #shared-newest-wins", async () => {
    await pair.apart();
    const window = (reason: string) => ({ name: "split", quiet: true, ttl_seconds: 600, reason });
    expect((await ban(pair.first, "older")).body).toMatchObject({ shared: false, unconfirmed_by: ["brain2"] });
    expect((await pair.second.post("/api/v1/maintenance", window("older"))).body).toMatchObject({ shared: false });
    await Bun.sleep(5);
    await ban(pair.second, "newer");
    await pair.first.post("/api/v1/maintenance", window("newer"));
    await pair.joined();
    for (const service of [pair.first, pair.second]) {
      await showsBan(service, { state: "active", order_reason: "newer" });
      await eventually(
        async () => (await rows(service, "maintenance", { name: "split", reason: "newer" })).length === 1,
        () => service.output,
      );
      await eventually(
        async () => (await pair.clusterAt(service)).brains?.[0]?.unconfirmed_orders === 0,
        () => service.output,
      );
    }
  });

  test("an unban names the brain that has not confirmed it, and the ban there ends once it is reached", async () => {
    await ban(pair.first, "a");
    await pair.apart();
    expect((await unban(pair.first)).body).toMatchObject({ shared: false, unconfirmed_by: ["brain2"] });
    expect(await bans(pair.second)).toMatchObject([{ state: "active" }]);
    await pair.joined();
    await showsBan(pair.second, { state: "withdrawn", reason: "manual unban" });
  });
});

test("the report of an edge node at one brain is shown at the other", async () => {
  const url = `http://127.0.0.1:${pair.first.port}/api/v1/edge/nodes/e1/report`;
  const headers = { "content-type": "application/json" };
  expect((await fetch(url, { method: "POST", headers, body: '{"version":"test"}' })).status).toBe(204);
  const shown = async () => (await rows(pair.second, "edge/nodes", { name: "e1" }))[0]?.["report"];
  await eventually(
    async () => Bun.deepMatch({ version: "test" }, (await shown()) ?? {}),
    () => pair.second.output,
  );
});

test("the cluster as a brain shows it, also in its status, and its metrics #status-cluster", async () => {
  const inForce = (await pair.clusterAt(pair.first)).orders?.in_force ?? 0;
  await ban(pair.first, "a");
  // Some time after its start.
  await eventually(
    async () => (await pair.clusterAt(pair.first)).leading === true,
    () => pair.first.output,
  );
  const { brains, ...cluster } = await pair.clusterAt(pair.first);
  expect(cluster).toMatchObject({
    ...{ enabled: true, name: "brain1", waiting: [], faults: [], orders: { in_force: inForce + 1 } },
    lacks: ["acme_slots", "one_notification_in_a_split"],
  });
  expect(brains).toMatchObject([{ name: "brain2", state: "up", differs: [], unconfirmed_orders: 0 }]);
  expect((await pair.clusterAt(pair.second)).leading).toBe(false);
  expect((await pair.first.get("/api/v1/status")).body).toMatchObject({ cluster: { brains: 1, up: 1, faults: 0 } });
  const metrics = await (await fetch(`http://127.0.0.1:${pair.first.port}/metrics`)).text();
  expect(metrics).toContain('svc_cluster_brain_up{brain="brain2"} 1');
});

describe("a brain that has been taken over", () => {
  test("gets no order through that cannot be one, and the other goes on", async () => {
    await ban(pair.second, "own");
    await pair.end("first", "SIGKILL");
    const stamp = { ms: Date.now(), brain: "brain1" };
    const ahead = { ms: Date.now() + 2 * 86_400_000, brain: "brain1" };
    const block = { source: SOURCE, victim: VICTIM, createdAt: 1, expiresAt: Date.now() + 60_000, reason: "" };
    const key = `${SOURCE}->${VICTIM}`;
    const records = [
      { table: "source_blocks", key, stamp: ahead, record: block },
      { table: "source_blocks", key: "other", stamp, record: block },
      { table: "source_blocks", key, stamp, record: { ...block, expiresAt: "never" } },
      { table: "bans", key: "192.0.2.0/24", stamp, record: { prefix: "192.0.2.0/24" } },
      { table: "attacks", key: "a", stamp, record: {} },
      7,
    ];
    const peer = await HostilePeer.connect(authority, "brain1", pair.port);
    peer.send("orders", { batch: 1, sent_ms: Date.now(), records });
    expect(await peer.answer("orders_taken")).toEqual({ batch: 1, outcomes: records.map(() => "refused") });
    expect(await rows(pair.second, "dataplane/sources")).toEqual([]);
    expect(await bans(pair.second)).toMatchObject([{ state: "active" }]);
    const metrics = await (await fetch(`http://127.0.0.1:${pair.second.port}/metrics`)).text();
    expect(metrics).toContain('svc_cluster_refused_records_total{cause="ahead"} 1');
    expect(metrics).toContain('svc_cluster_refused_records_total{cause="invalid"} 3');
    expect(metrics).toContain('svc_cluster_dropped_messages_total{cause="garbled"} 1');
    peer.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
    await peer.closed;
    expect((await ban(pair.second, "still here")).status).toBe(200);
    await pair.again("first");
  });
});
