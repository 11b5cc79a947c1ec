/** The status object (docs/interface.md#status), over a real listener. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { StatusWire, TenantStatusWire } from "../../src/http/wire/status.ts";
import { status } from "../fixtures/browser/views.ts";
import { admitCallers, as, type Caller } from "../fixtures/http/callers.ts";
import { TestServer } from "../fixtures/http/http.ts";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

async function statusFor(caller: Caller = "viewer"): Promise<Record<string, unknown>> {
  const answer = await fetch(`${server.base}/api/v1/status`, { headers: as(caller) });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>;
}

test.each([true, false])("status dry_run is the global mode: %p", async (dryRun) => {
  server.service.statusView = status({ dryRun });
  expect(await statusFor()).toMatchObject({ dry_run: dryRun });
});

test("status uptime_seconds is a number", async () => {
  expect(await statusFor()).toMatchObject({ uptime_seconds: 12 });
});

test.each(["viewer", "operator", "tenantViewer"] as const)("status version is always present: %s", async (caller) => {
  expect(await statusFor(caller)).toMatchObject({ version: "1.2.3" });
});

test("status update_available is false, without the fields of a release, as long as none was found", async () => {
  const wire = await statusFor();
  expect(wire).toMatchObject({ update_available: false });
  expect(Object.keys(wire).filter((name) => name.startsWith("latest_"))).toEqual([]);
});

test("status latest_version, latest_is_security and latest_url come with a newer release, for unscoped tokens", async () => {
  const update = { latestVersion: "1.3.0", isSecurity: true, latestUrl: "https://example.net/1.3.0" };
  server.service.statusView = status({ update });
  const told = { latest_version: "1.3.0", latest_is_security: true, latest_url: "https://example.net/1.3.0" };
  expect(await statusFor()).toMatchObject({ update_available: true, ...told });
  const own = await statusFor("tenantViewer");
  expect(own).toMatchObject({ update_available: true });
  expect(Object.keys(own).filter((name) => name.startsWith("latest_"))).toEqual([]);
});

test.each([
  ["viewer", "viewer"],
  ["operator", "operator"],
  ["tenantViewer", "viewer"],
  ["tenantOperator", "operator"],
] as const)("status role is that of the calling token: %s", async (caller, role) => {
  expect(await statusFor(caller)).toMatchObject({ role });
});

test("status role is operator on an open API", async () => {
  server.tokens = [];
  expect(await (await server.get("/api/v1/status")).json()).toMatchObject({ role: "operator", unscoped: true });
});

test.each([
  ["viewer", true],
  ["tenantViewer", false],
] as const)("status unscoped tells whether the token has no tenant: %s", async (caller, unscoped) => {
  expect(await statusFor(caller)).toMatchObject({ unscoped });
});

test("status networks are CIDR strings, for unscoped tokens only", async () => {
  expect(await statusFor()).toMatchObject({ networks: ["192.0.2.0/24", "2001:db8::/32"] });
  expect(await statusFor("tenantViewer")).not.toHaveProperty("networks");
});

test("status active_attacks and active_bans are counts, those of the caller's tenant where it has one", async () => {
  const asked: (string | null)[] = [];
  server.service.status = (tenant: string | null = null) => {
    asked.push(tenant);
    return status({ activeAttacks: tenant === null ? 5 : 1, activeBans: tenant === null ? 7 : 2 });
  };
  expect(await statusFor()).toMatchObject({ active_attacks: 5, active_bans: 7 });
  expect(await statusFor("tenantViewer")).toMatchObject({ active_attacks: 1, active_bans: 2 });
  expect(asked).toEqual([null, "acme"]);
});

test("status thresholds are the base trio, for unscoped tokens only", async () => {
  expect(await statusFor()).toMatchObject({ thresholds: { pps: 1000, mbps: 10, flows_per_sec: 100 } });
  expect(await statusFor("tenantViewer")).not.toHaveProperty("thresholds");
});

test("status hostgroups have name, calculation, mitigation and ban", async () => {
  expect(await statusFor()).toMatchObject({
    hostgroups: [{ name: "global", calculation: "per_host", mitigation: "blackhole", ban: true }],
  });
});

test.each(["bgp", "notify", "capture"])("status %s is for unscoped tokens only", async (field) => {
  const config = {
    speaker: "managed",
    localAsn: 64500,
    routerId: "192.0.2.1",
    nextHop: "192.0.2.9",
    nextHop6: "100::1",
    communities: ["65535:666"],
    localPref: 0,
  };
  server.service.statusView = status({
    bgp: { config, connected: true, gobgpVersion: 4, fault: null, neighbors: [] } as never,
  });
  expect(await statusFor()).toHaveProperty(field);
  expect(await statusFor("tenantOperator")).not.toHaveProperty(field);
});

test("status bgp is absent without an announcer", async () => {
  expect(await statusFor()).not.toHaveProperty("bgp");
});

test("status scrubbing is absent where nothing is diverted", async () => {
  expect(await statusFor()).not.toHaveProperty("scrubbing");
});

test("status scrubbing says where diverted traffic goes, to an unscoped token only", async () => {
  server.service.statusView = status({
    scrubbing: { nextHop: "192.0.2.67" as never, nextHop6: null, communities: ["64500:2", "64500:3"], localPref: 0 },
  });
  expect((await statusFor())["scrubbing"]).toEqual({ next_hop: "192.0.2.67", community: "64500:2 64500:3" });
  expect(await statusFor("tenantOperator")).not.toHaveProperty("scrubbing");
});

test("status notify lists which channels are enabled, never tokens or URLs", async () => {
  const wire = await statusFor();
  expect(wire["notify"]).toEqual({ telegram: false, webhook: true, slack: false, email: false, exec: false });
});

test.each(["viewer", "tenantViewer"] as const)(
  "status nodes_total and edge_nodes_total are present for every role: %s",
  async (caller) => {
    expect(await statusFor(caller)).toMatchObject({ nodes_total: 2, edge_nodes_total: 3 });
  },
);

test("status of a tenant's token is its own part and nothing else", async () => {
  const own = await statusFor("tenantViewer");
  expect([...Value.Errors(TenantStatusWire, own)]).toEqual([]);
  expect([...Value.Errors(StatusWire, await statusFor())]).toEqual([]);
  expect(Object.keys(own).toSorted()).toEqual([
    "active_attacks",
    "active_bans",
    "dry_run",
    "edge_nodes_total",
    "hostgroups",
    "nodes_total",
    "role",
    "unscoped",
    "update_available",
    "uptime_seconds",
    "version",
  ]);
});
