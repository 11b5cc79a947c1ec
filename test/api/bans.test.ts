/** Ban and unban by hand (docs/interface.md#ban-command), by the whole service. The rules are in src/mitigation. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Answer } from "../fixtures/service.ts";
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
ban: { max_active_bans: 2, ttl_seconds: 300 }
`;
const [TARGET, WHITELISTED, OUTSIDE] = ["203.0.113.7", "203.0.113.53", "198.51.100.1"] as const;

let directory: string;
let service: ServiceInProcess;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), `floodwall-bans-${process.pid}-`));
  service = new ServiceInProcess({ directory, config: CONFIG });
});
afterEach(async () => {
  await service.stop();
  rmSync(directory, { recursive: true, force: true });
});

const ban = (ip: string = TARGET) => service.post<Ban>("/api/v1/ban", { ip });
const unban = (ip: string = TARGET) => service.post<Ban>("/api/v1/unban", { ip });
const bans = async () => (await service.get<{ bans: Ban[] }>("/api/v1/bans")).bans;
const stateOf = async (ip: string) => (await bans()).find(({ target }) => target === ip)?.state;

function expectRefused(answer: Answer<Ban>, target: string, reason: string): void {
  expect(answer).toMatchObject({ status: 409, body: { target, state: "rejected", reason } });
}

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

test.each([
  ["ban", ban],
  ["unban", unban],
])("%s command of an invalid ip is 400", async (_, command) => {
  expect(await command("203.0.113.07")).toEqual({ status: 400, body: { error: "invalid ip: 203.0.113.07" } as never });
});

test.each([
  ["whitelisted", WHITELISTED],
  ["outside configured networks", OUTSIDE],
])("ban refusal %s is 409 with the rejected ban, which is not listed", async (reason, ip) => {
  expectRefused(await ban(ip), ip, reason);
  expect(await bans()).toEqual([]);
});

test("ban refusal max_active_bans reached is 409, and a refresh at the cap is none", async () => {
  for (const ip of ["203.0.113.1", "203.0.113.2"]) expect((await ban(ip)).status).toBe(200);
  expectRefused(await ban(), TARGET, "max_active_bans reached");
  expect((await ban("203.0.113.2")).status).toBe(200);
});

test("limit active-ban cap is max_active_bans, and an unban makes room", async () => {
  for (const ip of ["203.0.113.1", "203.0.113.2"]) await ban(ip);
  expect((await ban()).status).toBe(409);
  await unban("203.0.113.1");
  expect((await ban()).status).toBe(200);
});

test("unban command returns the withdrawn ban", async () => {
  await ban();
  const withdrawn = { target: TARGET, state: "withdrawn", reason: "manual unban" };
  expect(await unban()).toMatchObject({ status: 200, body: withdrawn });
});

test("unban command without a ban that is active is 404, also the second time", async () => {
  await ban();
  await unban();
  expect(await unban()).toEqual({ status: 404, body: { error: `no active ban for ${TARGET}` } as never });
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
  for (const ip of [WHITELISTED, OUTSIDE]) expect((await ban(ip)).body.state).toBe("rejected");
});

test("limit ban TTL: every ban has an expiry, ttl_seconds from now", async () => {
  const { started_at, expires_at } = (await ban()).body;
  expect(Date.parse(expires_at) - Date.parse(started_at)).toBe(300_000);
});
