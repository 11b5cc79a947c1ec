/** Ban and unban by hand (docs/interface.md#ban-command), by the whole service. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Answer, ServiceProcess } from "../fixtures/service.ts";

interface Ban {
  readonly target: string;
  readonly state: string;
  readonly reason?: string;
  readonly dry_run: boolean;
  readonly manual: boolean;
  readonly started_at: string;
  readonly expires_at: string;
  readonly error?: string;
}

const CONFIG = `
networks: [203.0.113.0/24, 2001:db8::/32]
protected_whitelist: [203.0.113.53]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
ban: { max_active_bans: 2, ttl_seconds: 300 }
`;

let service: ServiceProcess;

beforeAll(async () => {
  service = await ServiceProcess.start({ config: CONFIG });
}, 60_000);
afterAll(() => service.remove());

const ban = (ip: string): Promise<Answer<Ban>> => service.post<Ban>("/api/v1/ban", { ip });
const unban = (ip: string): Promise<Answer<Ban>> => service.post<Ban>("/api/v1/unban", { ip });
const bans = async () => (await service.get<{ bans: Ban[] }>("/api/v1/bans")).body.bans;

beforeEach(async () => {
  for (const { target, state } of await bans()) if (state === "active") await unban(target);
});

describe("ban command", () => {
  test("returns the ban with 200, and it is listed with the next request", async () => {
    const { status, body } = await ban("203.0.113.7");
    expect(status).toBe(200);
    expect(body).toMatchObject({ target: "203.0.113.7", state: "active", manual: true, method: "blackhole" });
    expect(await bans()).toContainEqual(body);
  });

  test("in dry run is recorded and flagged", async () => {
    expect((await ban("203.0.113.7")).body).toMatchObject({ dry_run: true, state: "active" });
  });

  test("refreshes the ban of an address that is banned: 200, with the same start", async () => {
    const first = (await ban("2001:db8::7")).body;
    const again = await ban("2001:DB8:0::7");
    expect([again.status, again.body.started_at]).toEqual([200, first.started_at]);
    expect(Date.parse(again.body.expires_at)).toBeGreaterThanOrEqual(Date.parse(first.expires_at));
  });

  test.each(["", "203.0.113", "203.0.113.07", "203.0.113.0/24", "::ffff:203.0.113.7", "fe80::1%lo"])(
    "of an invalid ip is 400: %p",
    async (ip) => {
      const { status, body } = await ban(ip);
      expect([status, body.error]).toEqual([400, `invalid ip: ${ip}`]);
    },
  );
});

describe("ban refusal", () => {
  test.each([
    { ip: "203.0.113.53", reason: "whitelisted" },
    { ip: "198.51.100.1", reason: "outside configured networks" },
  ])("$reason is 409 with the rejected ban: $ip", async ({ ip, reason }) => {
    const { status, body } = await ban(ip);
    expect(status).toBe(409);
    expect(body).toMatchObject({ target: ip, state: "rejected", reason });
    expect(await bans()).not.toContainEqual(expect.objectContaining({ target: ip }));
  });

  test("max_active_bans reached is 409, and a refresh at the cap is none", async () => {
    for (const ip of ["203.0.113.1", "203.0.113.2"]) expect((await ban(ip)).status).toBe(200);
    const { status, body } = await ban("203.0.113.3");
    expect([status, body.state, body.reason]).toEqual([409, "rejected", "max_active_bans reached"]);
    expect((await ban("203.0.113.2")).status).toBe(200);
  });
});

describe("unban command", () => {
  test("returns the withdrawn ban", async () => {
    await ban("203.0.113.9");
    const { status, body } = await unban("203.0.113.9");
    expect(status).toBe(200);
    expect(body).toMatchObject({ target: "203.0.113.9", state: "withdrawn", reason: "manual unban" });
  });

  test("without a ban that is active is 404, also the second time", async () => {
    await ban("203.0.113.9");
    await unban("203.0.113.9");
    const { status, body } = await unban("203.0.113.9");
    expect([status, body.error]).toEqual([404, "no active ban for 203.0.113.9"]);
  });

  test("of an invalid ip is 400", async () => {
    expect((await unban("nowhere")).status).toBe(400);
  });
});

test("ban state goes from none to active by a ban of an allowed target, to withdrawn by an unban", async () => {
  const target = "203.0.113.20";
  const stateOf = async () => (await bans()).find((each) => each.target === target)?.state;
  expect(await stateOf()).toBeUndefined();
  await ban(target);
  expect(await stateOf()).toBe("active");
  await unban(target);
  expect(await stateOf()).toBe("withdrawn");
});

test("ban state goes from none to rejected by a ban of a target that is not allowed", async () => {
  for (const ip of ["203.0.113.53", "198.51.100.1"]) expect((await ban(ip)).body.state).toBe("rejected");
});

test("limit ban TTL: every ban has an expiry, ttl_seconds from now", async () => {
  const { started_at, expires_at } = (await ban("203.0.113.7")).body;
  expect(Date.parse(expires_at) - Date.parse(started_at)).toBe(300_000);
});

test("limit active-ban cap is max_active_bans, and an unban makes room", async () => {
  for (const ip of ["203.0.113.1", "203.0.113.2"]) expect((await ban(ip)).status).toBe(200);
  expect((await ban("203.0.113.3")).status).toBe(409);
  await unban("203.0.113.1");
  expect((await ban("203.0.113.3")).status).toBe(200);
});
