/** The reload by the API (docs/interface.md#reload), by the whole fresh.running. */
import { expect, spyOn, test } from "bun:test";
import { FreshService } from "../fixtures/fresh-service.ts";
import { address } from "../fixtures/host-rows.ts";
import { attackOn } from "../fixtures/mitigation/ban-engine.ts";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
`;

const fresh = new FreshService(CONFIG);

function reload(config: string): Promise<object> {
  fresh.running.writeConfig(config);
  return fresh.running.post("/api/v1/config/reload", "");
}

test("a reload reads the file again and returns what is in force #reload-reads", async () => {
  const thresholds = { pps: 2000, mbps: 100, flows_per_sec: 500 };
  const body = { reloaded: true, dry_run: true, thresholds, needs_restart: [] };
  expect(await reload(CONFIG.replace("pps: 1000", "pps: 2000"))).toEqual({ status: 200, body });
  expect(await fresh.running.get("/api/v1/status")).toMatchObject({ thresholds });
});

test.each(["thresholds: [", CONFIG.replace("203.0.113.0/24", "203.0.113.1/24")])(
  "a reload of an invalid file is 400 with the error, and the running configuration is untouched: %j #reload-of-an-invalid-file",
  async (config) => {
    const error = expect.stringContaining("floodwall.yaml:");
    expect(await reload(config)).toEqual({ status: 400, body: { error } });
    expect(await fresh.running.get("/api/v1/status")).toMatchObject({ networks: ["203.0.113.0/24"] });
  },
);

test("a reload is audited with what changed, and of most sections nothing of what is in them #reload-is-audited", async () => {
  await reload(CONFIG.replace("pps: 1000", "pps: 2000"));
  await reload(`${CONFIG.replace("pps: 1000", "pps: 2000")}detection: { sustain_ms: 300 }\nban: { ttl_seconds: 77 }\n`);
  await reload(`${CONFIG.replace("pps: 1000", "pps: 2000")}detection: { sustain_ms: 300 }\nban: { ttl_seconds: 77 }\n`);
  expect(fresh.running.audited).toMatchObject([
    { action: "config_reload", result: "ok", reason: "changed: thresholds; thresholds: pps: 1000 → 2000" },
    { action: "config_reload", result: "ok", reason: "changed: detection, ban; ban: ttl_seconds: 600 → 77" },
    { action: "config_reload", result: "ok", reason: "" },
  ]);
});

test("a preview names the bans that the file would end, which go on #reload-preview", async () => {
  for (const ip of ["203.0.113.1", "203.0.113.2"]) await fresh.running.post("/api/v1/ban", { ip });
  fresh.running.writeConfig(`${CONFIG}protected_whitelist: [203.0.113.2]\n`);
  expect(await fresh.running.post("/api/v1/config/reload/preview", "")).toMatchObject({
    body: { ends_bans: [{ prefix: "203.0.113.2/32", reason: "target is whitelisted" }], ends_bans_count: 1 },
  });
  expect(fresh.running.floodwall.bans.active.size).toBe(2);
});

test("a preview says what a reload would change, and changes nothing #reload-preview", async () => {
  const changed = CONFIG.replace("pps: 1000", "pps: 2000").replace("203.0.113.0/24", "203.0.113.0/24, 192.0.2.0/24");
  fresh.running.writeConfig(`${changed}detection: { tick_ms: 50 }\nban: { ttl_seconds: 77 }\n`);
  const preview = () => fresh.running.post("/api/v1/config/reload/preview", "");
  expect(await preview()).toMatchObject({
    status: 200,
    body: {
      changes: [
        { section: "networks", details: ["added: 192.0.2.0/24"] },
        { section: "thresholds", details: ["pps: 1000 → 2000"] },
        { section: "ban", details: ["ttl_seconds: 600 → 77"] },
      ],
      needs_restart: ["detection.tick_ms"],
    },
  });
  expect(await fresh.running.get("/api/v1/status")).toMatchObject({ networks: ["203.0.113.0/24"] });
  expect(fresh.running.audited).toEqual([]);
  fresh.running.writeConfig("thresholds: [");
  expect(await preview()).toEqual({ status: 400, body: { error: expect.stringContaining("floodwall.yaml:") } });
});

test("a change lists what bans in force announce or withdraw by it, before and when it is made #reload-lists-routes", async () => {
  const speaker = "{ speaker: external, grpc: /nowhere/gobgp.sock, local_asn: 64500, router_id: 192.0.2.10,";
  const bgp = `bgp:\n  ${speaker} next_hop: 192.0.2.66 }\n`;
  const attack = attackOn(address("203.0.113.7"), "a1");
  await fresh.restart(`dry_run: true\n${CONFIG}${bgp}`);
  fresh.running.floodwall.bans.attacksChanged([{ kind: "started", attack }], fresh.clock.wallMs());
  await fresh.running.post("/api/v1/ban", { ip: "203.0.113.9" });
  fresh.running.writeConfig(`dry_run: false\n${CONFIG}${bgp}`);
  const routes = { announces: [expect.stringContaining("203.0.113.7/32 next-hop 192.0.2.66")] };
  const preview = await fresh.running.post<object>("/api/v1/config/reload/preview", "");
  expect(preview.body).toMatchObject(routes);
  expect(fresh.running.floodwall.bans.active.get("203.0.113.7/32")?.dryRun).toBe(true);
  expect(await reload(`dry_run: false\n${CONFIG}${bgp}`)).toMatchObject({ body: routes });
  const back = await reload(`dry_run: true\n${CONFIG}${bgp}`);
  expect(back).toMatchObject({ body: { withdraws: routes.announces } });
  expect(back).not.toHaveProperty("body.announces");
});

test("a preview keeps a prefix that was ordered, as a reload does #reload-preview", async () => {
  const order = { prefix: "203.0.113.64/26", method: "blackhole" };
  const speaker = "{ speaker: external, grpc: /nowhere/gobgp.sock, local_asn: 64500, router_id: 192.0.2.10,";
  const config = `dry_run: false\n${CONFIG}bgp:\n  ${speaker} next_hop: 192.0.2.66 }\n`;
  await fresh.restart(config);
  expect((await fresh.running.post("/api/v1/ban", order)).status).toBe(200);
  const preview = await fresh.running.post<object>("/api/v1/config/reload/preview", "");
  expect(preview).toMatchObject({ body: { ends_bans: [], ends_bans_count: 0 } });
  await reload(config);
  expect(fresh.running.floodwall.bans.active.has(order.prefix)).toBe(true);
});

test("a preview judges by the maintenance windows of the file, beside those that were ordered #reload-lists-routes", async () => {
  const speaker = "{ speaker: external, grpc: /nowhere/gobgp.sock, local_asn: 64500, router_id: 192.0.2.10,";
  const config = `dry_run: false\n${CONFIG}bgp:\n  ${speaker} next_hop: 192.0.2.66 }\n`;
  await fresh.restart(config);
  const { bans } = fresh.running.floodwall;
  for (const ip of ["203.0.113.7", "203.0.113.8"]) {
    bans.attacksChanged([{ kind: "started", attack: attackOn(address(ip), ip) }], fresh.clock.wallMs());
  }
  const window = { name: "move", prefixes: ["203.0.113.8"], watch_only: true, ttl_seconds: 600 };
  expect((await fresh.running.post("/api/v1/maintenance", window)).status).toBe(200);
  const [from, until] = [-60_000, 60_000].map((ms) => new Date(fresh.clock.wallMs() + ms).toISOString());
  const all = `maintenance: [{ name: all, watch_only: true, from: "${from}", until: "${until}" }]\n`;
  fresh.running.writeConfig(`${config}${all}`);
  const routes = { withdraws: [expect.stringContaining("203.0.113.7/32 next-hop 192.0.2.66")] };
  const preview = await fresh.running.post<object>("/api/v1/config/reload/preview", "");
  expect(preview.body).toMatchObject(routes);
  expect(bans.active.get("203.0.113.7/32")?.dryRun).toBe(false);
  expect(await reload(`${config}${all}`)).toMatchObject({ body: routes });
  expect(bans.active.get("203.0.113.7/32")?.dryRun).toBe(true);
});

test("a reload looks for other owners of incidents only where hostgroups, their tenants or networks differ", async () => {
  const looks = spyOn(fresh.running.floodwall.incidents, "reconfigured");
  const group = (tenant: string) =>
    `${CONFIG}hostgroups: [{ name: web, networks: [203.0.113.0/25], tenant: ${tenant} }]\n`;
  const counts = [];
  for (const config of [CONFIG.replace("pps: 1000", "pps: 2000"), group("acme"), group("acme"), group("other")]) {
    await reload(config);
    counts.push(looks.mock.calls.length);
  }
  expect(counts).toEqual([0, 1, 1, 2]);
});
