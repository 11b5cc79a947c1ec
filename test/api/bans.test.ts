/** Ban and unban by hand (docs/interface.md#ban-command), by the whole service. The rules are in src/mitigation. */
import { beforeEach, expect, test } from "bun:test";
import { Scenario } from "../fixtures/scenario.ts";
import { ServiceInProcess } from "../fixtures/service-in-process.ts";

interface Ban {
  readonly target: string;
  readonly state: string;
  readonly reason?: string;
  readonly started_at: string;
  readonly expires_at: string;
}

const CONFIG = `
networks: [203.0.113.0/24, 2001:db8::/32]
protected_whitelist: [203.0.113.53]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
hostgroups:
  - { name: web, networks: [203.0.113.0/25] }
  - { name: whole, networks: [203.0.113.128/25], calculation: total, mitigation: flowspec }
ban: { max_active_bans: 2, ttl_seconds: 300 }
`;
const [TARGET, WHITELISTED, OUTSIDE] = ["203.0.113.7", "203.0.113.53", "198.51.100.1"] as const;

const scene = new Scenario();
let service: ServiceInProcess;

beforeEach(() => {
  service = new ServiceInProcess({ directory: scene.directory, config: CONFIG });
  scene.onEnd(() => service.stop());
});

const ban = (ip: string = TARGET) => service.post<Ban>("/api/v1/ban", { ip });
const unban = (ip: string = TARGET) => service.post<Ban>("/api/v1/unban", { ip });
const bans = async () => (await service.get<{ bans: Ban[] }>("/api/v1/bans")).bans;
const stateOf = async (ip: string) => (await bans()).find(({ target }) => target === ip)?.state;

test("ban command returns the ban with 200, and it is listed with the next request", async () => {
  const { status, body } = await ban();
  expect([status, body]).toMatchObject([200, { target: TARGET, state: "active", manual: true, method: "blackhole" }]);
  expect(await bans()).toEqual([body]);
});

test("ban command in dry run is recorded and flagged", async () => {
  expect((await ban()).body).toMatchObject({ dry_run: true, state: "active" });
});

test("ban command refreshes the ban of an address that is banned: 200, with the same start and a later end", async () => {
  const first = (await ban("2001:db8::7")).body;
  service.clock.advance(1000);
  const { status, body } = await ban("2001:DB8:0::7");
  expect([status, body.started_at]).toEqual([200, first.started_at]);
  expect(Date.parse(body.expires_at) - Date.parse(first.expires_at)).toBe(1000);
});

test("limit active-ban cap is max_active_bans: a refresh is not refused, and an unban makes room", async () => {
  const [one, two] = ["203.0.113.1", "203.0.113.2"] as const;
  const statuses: number[] = [];
  for (const ip of [one, two, TARGET, two]) statuses.push((await ban(ip)).status);
  await unban(one);
  statuses.push((await ban()).status);
  expect(statuses).toEqual([200, 200, 409, 200, 200]);
});

test("ban state goes from none to active by a ban of an allowed target, to withdrawn by an unban", async () => {
  const states = [await stateOf(TARGET)];
  for (const command of [ban, unban]) {
    await command();
    states.push(await stateOf(TARGET));
  }
  expect(states).toEqual([undefined, "active", "withdrawn"]);
});

test("ban state goes from none to rejected by a ban of a target that is not allowed", async () => {
  for (const ip of [WHITELISTED, OUTSIDE])
    expect(await ban(ip)).toMatchObject({ status: 409, body: { target: ip, state: "rejected" } });
  expect(await bans()).toEqual([]);
});

test("limit ban TTL: every ban has an expiry, ttl_seconds from now", async () => {
  const { started_at, expires_at } = (await ban()).body;
  expect(Date.parse(expires_at) - Date.parse(started_at)).toBe(300_000);
});

test("status hostgroups are those of the configuration, and one that is judged as a whole does not ban", async () => {
  const plain = { calculation: "per_host", mitigation: "blackhole", ban: true };
  const whole = { name: "whole", calculation: "total", mitigation: "flowspec", ban: false };
  const hostgroups = [{ name: "global", ...plain }, { name: "web", ...plain }, whole];
  expect(await service.get("/api/v1/status")).toMatchObject({ hostgroups });
});
