/** What one tenant orders takes nothing from attacks, from other tenants and from the administrator. */
import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { attackOn, flush, harness, started, terms } from "../../test/fixtures/mitigation/ban-engine.ts";
import { callersOf, type Holder } from "../access/shares.ts";
import { type Prefix, parsePrefix } from "../net/prefix.ts";
import { OVER_ADDRESSES, OVER_SHARE } from "./admission.ts";
import type { BanEngine } from "./ban-engine.ts";
import { type BanOrder, plainOrder } from "./order/ban-order.ts";

const acme: Holder = { operator: "acme-ops", tenant: "acme" };
const other: Holder = { operator: "other-ops", tenant: "other" };
const admin: Holder = { operator: "noc", tenant: null };
const callers = callersOf([{ tenant: "acme" }, { tenant: "other" }, { tenant: null }]);
/** acme has the addresses below .128, the other tenant those from there on. */
const tenantOf = ({ address: ip }: Prefix) => (Number(ip.split(".")[3]) < 128 ? "acme" : "other");
const host = (last: number) => address(`192.0.2.${last}`);

const banned = (engine: BanEngine, last: number, by: Holder) => engine.ban(plainOrder(host(last)), () => 0, by);

async function banMany(engine: BanEngine, count: number, by: Holder): Promise<number> {
  let active = 0;
  for (let last = 1; last <= count; last++) if ((await banned(engine, last, by)).ban.state === "active") active++;
  return active;
}

test("of 20 bans a tenant of two orders 5, and says why it gets no more #ban-refusal-share", async () => {
  const { engine } = harness({ maxActiveBans: 20, callers });
  expect(await banMany(engine, 20, acme)).toBe(5);
  expect((await banned(engine, 60, acme)).ban).toMatchObject({ state: "rejected", reason: OVER_SHARE });
  expect((await banned(engine, 129, other)).ban.state).toBe("active");
  expect((await banned(engine, 61, admin)).ban.state).toBe("active");
  // One that is extended takes no more.
  expect((await banned(engine, 1, acme)).ban.state).toBe("active");
  await engine.unban(host(1), 0);
  expect((await banned(engine, 60, acme)).ban.state).toBe("active");
});

test("an attack on another tenant is banned whatever a tenant orders", async () => {
  const { engine } = harness({ maxActiveBans: 4, callers });
  await banMany(engine, 20, acme);
  engine.attacksChanged([started(attackOn(host(200)))], 0);
  expect(engine.active.get("192.0.2.200/32")?.state).toBe("active");
});

test("an order on an automatic ban, which no attack replaces from then on, is within the share too", async () => {
  const { engine } = harness({ maxActiveBans: 8, callers });
  engine.attacksChanged(
    [1, 2, 3, 4].map((last) => started(attackOn(host(last)))),
    0,
  );
  const states = [];
  for (const last of [1, 2, 3]) states.push((await banned(engine, last, acme)).ban.state);
  expect(states).toEqual(["active", "active", "rejected"]);
  expect(engine.active.get("192.0.2.3/32")).toMatchObject({ manual: false, state: "active" });
});

test("orders at once, and of an earlier process, are within the share", async () => {
  const { engine, file } = harness({ maxActiveBans: 20, callers });
  const ordered = await Promise.all(Array.from({ length: 20 }, (_, i) => banned(engine, i + 1, acme)));
  expect(ordered.filter(({ ban }) => ban.state === "active")).toHaveLength(5);
  await flush(engine);
  const next = harness({ maxActiveBans: 20, callers }, {}, file).engine;
  next.restore({ bans: [...file.rows.bans.values()], attacks: [] }, 0);
  expect((await banned(next, 60, acme)).ban.reason).toBe(OVER_SHARE);
});

test("what the administrator ordered stays the administrator's when a tenant extends it, and takes over what it extends", async () => {
  const { engine } = harness({ maxActiveBans: 20, callers });
  await banned(engine, 1, admin);
  await banned(engine, 1, acme);
  expect(engine.active.get("192.0.2.1/32")).toMatchObject({ operator: "acme-ops" });
  expect(engine.active.get("192.0.2.1/32")).not.toHaveProperty("tenant");
  for (let last = 2; last <= 6; last++) await banned(engine, last, acme);
  expect((await banned(engine, 7, acme)).ban.reason).toBe(OVER_SHARE);
  await banned(engine, 2, admin);
  expect((await banned(engine, 7, acme)).ban.state).toBe("active");
});

test("what the administrator ordered in dry run is made real by the administrator alone", async () => {
  const { engine, announcer } = harness({ callers });
  const order = { ...plainOrder(host(1)), terms: { neighbors: ["edge1"] }, isDryRun: true };
  await engine.ban(order, () => 0, admin);
  expect((await banned(engine, 1, acme)).ban).toMatchObject({
    state: "rejected",
    reason: expect.stringContaining("a token without a tenant ordered this ban"),
  });
  expect(announcer.wanted).toEqual([]);
  await engine.ban({ ...plainOrder(host(1)), isDryRun: true }, () => 1000, acme);
  expect(engine.active.get("192.0.2.1/32")).toMatchObject({ dryRun: true, expiresAt: 601_000 });
  expect((await banned(engine, 1, admin)).ban).toMatchObject({ state: "active", dryRun: false });
});

test("where the banned fraction is the narrower cap, the share is of that", async () => {
  const { engine } = harness({ maxActiveBans: 200, maxBannedFraction: 0.1, callers });
  // 25 of 256 addresses, half of them for orders of two tenants.
  expect(await banMany(engine, 20, acme)).toBe(6);
});

describe("of the banned fraction", () => {
  const wide = (text: string, fields: Partial<BanOrder> = {}): BanOrder => {
    const prefix = parsePrefix(text) as Prefix;
    return { ...plainOrder(prefix.address), prefix, terms: { method: "blackhole" }, ...fields };
  };
  const stateOf = async (engine: BanEngine, order: BanOrder, by: Holder) => {
    const { state, reason } = (await engine.ban(order, () => 0, by)).ban;
    return reason ?? state;
  };
  // 153 of 256 addresses, 76 of them for orders of two tenants.
  const policy = { maxActiveBans: 200, maxBannedFraction: 0.6, callers };

  test("a wide order takes as many addresses of its tenant's share as it has, and leaves attacks theirs", async () => {
    const { engine } = harness(policy);
    expect(await stateOf(engine, wide("192.0.2.0/25"), acme)).toBe(OVER_ADDRESSES);
    expect(await stateOf(engine, wide("192.0.2.0/27"), acme)).toBe("active");
    expect(await stateOf(engine, wide("192.0.2.32/29"), acme)).toBe(OVER_ADDRESSES);
    expect(await stateOf(engine, wide("192.0.2.32/30"), acme)).toBe("active");
    // One that is extended takes no more.
    expect(await stateOf(engine, wide("192.0.2.0/27"), acme)).toBe("active");
    expect(await stateOf(engine, wide("192.0.2.128/27"), other)).toBe("active");
    const attacked = Array.from({ length: 85 }, (_, i) => host(160 + i));
    engine.attacksChanged(
      attacked.map((target) => started(attackOn(target))),
      0,
    );
    expect(attacked.filter((target) => engine.active.get(`${target}/32`) === undefined)).toEqual([]);
    await engine.unban(wide("192.0.2.0/27").prefix, 0);
    expect(await stateOf(engine, wide("192.0.2.32/29"), acme)).toBe("active");
  });

  test("what is virtual by order takes no addresses until another order makes it real", async () => {
    const { engine } = harness(policy);
    const half = (isDryRun: boolean) => wide("192.0.2.0/25", { isDryRun });
    expect(await stateOf(engine, half(true), acme)).toBe("active");
    expect(await stateOf(engine, wide("192.0.2.128/25", { isDryRun: true }), other)).toBe("active");
    expect(await stateOf(engine, half(false), acme)).toBe(OVER_ADDRESSES);
    expect(await stateOf(engine, half(false), admin)).toBe("active");
    expect(await stateOf(engine, wide("192.0.2.128/25"), admin)).toBe("max_banned_fraction reached");
    expect(engine.active.get("192.0.2.128/25")).toMatchObject({ dryRun: true, tenant: "other" });
  });
});

test("bans and unbans of one tenant's addresses end no cooldown of another's", async () => {
  const { engine } = harness({ maxActiveBans: 20, callers, tenantOf, termsOf: () => COOLING });
  engine.attacksChanged([started(attackOn(host(200)))], 0);
  await engine.unban(host(200), 0);
  for (let i = 0; i < 100; i++) {
    await banned(engine, 1 + (i % 100), acme);
    await engine.unban(host(1 + (i % 100)), 1);
  }
  engine.attacksChanged([started(attackOn(host(200), "again"))], 2);
  expect(engine.all().find(({ reason }) => reason === "cooldown after unban")?.target).toBe(host(200));
});

const COOLING = terms({ ban: { cooldownSeconds: 600 } });
