/** Maintenance windows by the API (docs/interface.md#maintenance), by the whole service. */
import { expect, test } from "bun:test";
import { FreshService } from "../fixtures/fresh-service.ts";
import { address } from "../fixtures/host-rows.ts";
import { agent } from "../fixtures/http/node-channel.ts";
import { attackOn } from "../fixtures/mitigation/ban-engine.ts";

const CONFIG = `
dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
hostgroups: [{ name: web, networks: [203.0.113.0/25] }]
maintenance:
  - { name: backups, hostgroups: [web], quiet: true, weekly: { days: [mon], at: "02:00", minutes: 60 } }
`;
const fresh = new FreshService(CONFIG, [{ ...agent("noc"), role: "operator" }]);
const WINDOW = { name: "move", hostgroups: ["web"], watch_only: true, ttl_seconds: 600, reason: "ticket 9" };

type Row = Readonly<Record<string, unknown>>;
const post = (body: object) => fresh.running.post<Row>("/api/v1/maintenance", body, "noc");
const windows = async () => (await fresh.running.get<{ windows: Row[] }>("/api/v1/maintenance", "noc")).windows;

test("a window is opened, listed, audited, and closed at the latest after its time #maintenance-open #maintenance-list", async () => {
  expect((await post(WINDOW)).body).toMatchObject({ name: "move", open: true, operator: "noc", origin: "order" });
  expect(await windows()).toMatchObject([{ name: "move" }, { name: "backups", open: false, origin: "configuration" }]);
  const row = { action: "maintenance", target: "move", targetType: "window", result: "set", operator: "noc" };
  expect(fresh.running.audited).toMatchObject([{ ...row, reason: "watch only, for web for 600 s: ticket 9" }]);
  await fresh.restart();
  fresh.clock.advance(599_000);
  expect((await windows()).length).toBe(2);
  fresh.clock.advance(2000);
  expect((await windows()).map(({ name }) => name)).toEqual(["backups"]);
});

test("in a window attacks are only watched, and their bans become real when it closes #maintenance-watch-only #maintenance-close", async () => {
  const { floodwall } = fresh.running;
  const attack = { ...attackOn(address("203.0.113.7"), "a1"), group: "web" };
  floodwall.bans.attacksChanged([{ kind: "started", attack }], fresh.clock.wallMs());
  const ban = () => floodwall.bans.active.get("203.0.113.7/32");
  expect(ban()?.dryRun).toBe(false);
  await post(WINDOW);
  expect(ban()?.dryRun).toBe(true);
  const ordered = await fresh.running.post<Row>("/api/v1/ban", { ip: "203.0.113.9" }, "noc");
  expect(ordered.body).toMatchObject({ dry_run: false });
  const closed = await fresh.running.order<Row>("DELETE", "/api/v1/maintenance/move", { reason: "done" }, "noc");
  expect([closed.status, ban()?.dryRun]).toEqual([200, false]);
  expect(fresh.running.audited.at(-1)).toMatchObject({ result: "cleared", reason: "watch only, for web: done" });
  const again = await fresh.running.order<Row>("DELETE", "/api/v1/maintenance/move", null, "noc");
  expect(again.status).toBe(404);
});

test.each([
  ["no time", { ttl_seconds: undefined }, 400, "ttl_seconds"],
  ["more than a week", { ttl_seconds: 604_801 }, 400, "ttl_seconds"],
  ["nothing that it does", { watch_only: false }, 400, "one of them says what the window does"],
  ["an unknown hostgroup", { hostgroups: ["none"] }, 400, "there is no hostgroup none"],
  ["a lower threshold", { threshold_factor: 0.5 }, 400, "threshold_factor"],
  ["a time that is no time", { opens_at: "tonight" }, 400, "opens_at: must be a time as"],
  ["a time that is over", { opens_at: "2020-01-01T00:00:00Z" }, 400, "opens_at: is over"],
  ["a time a year ahead", { opens_at: "2999-01-01T00:00:00Z" }, 400, "at most 30 days ahead"],
  ["a name of the configuration", { name: "backups" }, 409, "choose another"],
] as const)("a window with %s is refused #maintenance-refused", async (_, fields, status, says) => {
  const refused = await post({ ...WINDOW, ...fields });
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([status, expect.stringContaining(says)]);
  expect((await windows()).length).toBe(1);
});

test("thresholds of new attacks are multiplied while it is open #maintenance-threshold-factor", async () => {
  const { raised } = fresh.running.floodwall.detector;
  const web = { prefix: null, group: "web" };
  expect(raised.factorOf).toBeNull();
  await post({ ...WINDOW, watch_only: false, threshold_factor: 5 });
  expect([raised.factorOf?.(web), raised.factorOf?.({ ...web, group: "global" })]).toEqual([5, 1]);
});
