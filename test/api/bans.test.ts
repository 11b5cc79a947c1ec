/** Ban and unban by hand (docs/interface.md#ban-command), by the whole fresh.running. The rules are in src/mitigation. */
import { expect, test } from "bun:test";
import { FreshService } from "../fixtures/fresh-service.ts";

interface Ban {
  readonly target: string;
  readonly state: string;
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

const fresh = new FreshService(CONFIG);

const ban = (ip: string = TARGET) => fresh.running.post<Ban>("/api/v1/ban", { ip });
const unban = (ip: string = TARGET) => fresh.running.post<Ban>("/api/v1/unban", { ip });
const bans = async () => (await fresh.running.get<{ bans: Ban[] }>("/api/v1/bans")).bans;

test("a ban by hand is listed, extended, counted for the cap, and withdrawn #ban-command-returns #ban-command-in-dry-run #ban-command-refreshes #limit-ban-ttl #ban-state-goes-from-none-to-active", async () => {
  const { status, body: first } = await ban("2001:db8::7");
  const shown = { target: "2001:db8::7", state: "active", manual: true, method: "blackhole", dry_run: true };
  expect([status, first, await bans()]).toMatchObject([200, shown, [first]]);
  expect(Date.parse(first.expires_at) - Date.parse(first.started_at)).toBe(300_000);
  fresh.running.clock.advance(1000);
  const { body: extended } = await ban("2001:DB8:0::7");
  expect(extended.started_at).toBe(first.started_at);
  expect(Date.parse(extended.expires_at) - Date.parse(first.expires_at)).toBe(1000);
  expect((await unban("2001:db8::7")).body).toMatchObject({ state: "withdrawn" });
  expect(await bans()).toMatchObject([{ target: "2001:db8::7", state: "withdrawn" }]);
});

test("the cap does not refuse an extension, and an unban makes room #limit-active-ban-cap", async () => {
  const [one, two] = ["203.0.113.1", "203.0.113.2"] as const;
  const statuses: number[] = [];
  for (const ip of [one, two, TARGET, two]) statuses.push((await ban(ip)).status);
  await unban(one);
  statuses.push((await ban()).status);
  expect(statuses).toEqual([200, 200, 409, 200, 200]);
});

test("a ban that is not allowed is rejected and not listed #ban-state-goes-from-none-to-rejected", async () => {
  for (const ip of [WHITELISTED, OUTSIDE])
    expect(await ban(ip)).toMatchObject({ status: 409, body: { target: ip, state: "rejected" } });
  expect(await bans()).toEqual([]);
});

test("hostgroups of the status are those of the configuration, and one that is judged as a whole does not ban #status-hostgroups", async () => {
  const plain = { calculation: "per_host", mitigation: "blackhole", ban: true };
  const whole = { name: "whole", calculation: "total", mitigation: "flowspec", ban: false };
  const hostgroups = [{ name: "global", ...plain }, { name: "web", ...plain }, whole];
  expect(await fresh.running.get("/api/v1/status")).toMatchObject({ hostgroups });
});
