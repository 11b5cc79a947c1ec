import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import {
  attackOn,
  banBy,
  classified,
  ended,
  flush,
  harness,
  lasts,
  policy,
  spreadOver,
  spreadTerms,
  started,
  unbanBy,
  victim,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { hostPrefix } from "../net/prefix.ts";
import { buildOrder } from "./order/order-file.ts";
import type { MitigationPolicy } from "./policy.ts";
import { kernelRulesOf } from "./rules/kernel-rules.ts";

const NARROW = "10.1.4.0/24";
const WIDE = "10.1.4.0/22";
const WIDEST = "10.1.0.0/20";
const REFUSED = "10.9.0.0/24";

const banned = (overrides: Partial<MitigationPolicy> = {}, method: Parameters<typeof spreadTerms>[0] = "blackhole") =>
  harness({ spread: spreadTerms(method, { refused: [REFUSED] }), ...overrides });

describe("an attack that is spread over a prefix", () => {
  test("bans it, keeps the ban and lifts it at the end", () => {
    const { engine, announcer } = banned();
    const attack = spreadOver(NARROW);
    engine.attacksChanged([started(attack)], 0);
    expect(announcer.wanted).toEqual([NARROW]);
    expect(engine.banOf(attack)).toMatchObject({
      state: "active",
      target: "10.1.4.0",
      prefix: { text: NARROW },
      method: "blackhole",
      escalation: null,
      measure: { route: { prefix: { text: NARROW } } },
    });
    engine.attacksChanged([lasts(attack)], 500_000);
    expect(engine.banOf(attack)?.expiresAt).toBe(1_100_000);
    engine.attacksChanged([ended(attack)], 500_100);
    expect(announcer.wanted).toEqual([]);
    expect(engine.banOf(ended(attack).attack)).toMatchObject({ state: "withdrawn", reason: "attack ended" });
  });

  test("has its whole prefix scrubbed, as its hostgroup says", () => {
    const { engine, announcer } = banned({}, "scrub");
    const attack = classified(spreadOver(NARROW), "syn_flood");
    engine.attacksChanged([started(attack)], 0);
    const ban = engine.banOf(attack);
    expect(ban).toMatchObject({ method: "scrub", prefix: { text: NARROW }, measure: { kind: "scrub" } });
    expect(announcer.wanted).toEqual([]);
    const rules = ban === null ? [] : kernelRulesOf(ban);
    expect(rules.map(({ rule }) => `${rule.action.kind} ${rule.destination?.text}`)).toEqual([
      `validate_transparent ${NARROW}`,
      `limit_source ${NARROW}`,
    ]);
  });

  test("only alerts where prefixes are not banned", () => {
    const { engine, announcer, seen } = harness();
    engine.attacksChanged([started(spreadOver(NARROW)), lasts(spreadOver(NARROW))], 0);
    expect([announcer.wanted, seen, engine.all()]).toEqual([[], [], []]);
  });

  test("is refused once where its prefix may not be banned", () => {
    const { engine, announcer, seen } = banned();
    const attack = spreadOver(REFUSED);
    engine.attacksChanged([started(attack)], 0);
    engine.attacksChanged([lasts(attack)], 1000);
    expect(seen).toEqual(["10.9.0.0 rejected"]);
    expect(engine.banOf(attack)).toMatchObject({ state: "rejected", reason: "whitelisted", prefix: { text: REFUSED } });
    expect(announcer.wanted).toEqual([]);
  });

  test("counts once for the cap, and with all addresses for the fraction", () => {
    const { engine } = banned({ maxActiveBans: 1, maxBannedFraction: 0.5, addresses: () => 1024 });
    engine.attacksChanged([started(spreadOver("10.1.4.0/22", "too much"))], 0);
    expect(engine.all()).toMatchObject([{ reason: "max_banned_fraction reached" }]);
    engine.attacksChanged([started(spreadOver("10.2.0.0/23", "half"))], 1);
    expect(engine.active.has("10.2.0.0/23")).toBe(true);
    engine.attacksChanged([started(attackOn(victim))], 2);
    expect(engine.banOf(attackOn(victim))).toMatchObject({ reason: "max_active_bans reached" });
  });

  test("has nothing stand in for what neighbors refuse", () => {
    const { engine, announcer } = banned({}, "flowspec");
    announcer.states.set(`flow dst ${NARROW} proto udp`, { kind: "failed", cause: "no" });
    const attack = classified(spreadOver(NARROW), "udp_flood");
    engine.attacksChanged([started(attack)], 0);
    for (let ms = 0; ms < 10_000; ms += 500) engine.tick(ms);
    expect(engine.banOf(attack)).toMatchObject({ method: "flowspec", fallback: null });
    expect(announcer.wanted).toEqual([`flow dst ${NARROW} proto udp`]);
  });

  test("leaves the bans of single hosts in it alone", () => {
    const { engine, announcer } = banned();
    engine.attacksChanged([started(attackOn(victim)), started(spreadOver("192.0.2.0/24"))], 0);
    expect(announcer.wanted).toEqual(["192.0.2.0/24", "192.0.2.1/32"]);
    engine.attacksChanged([ended(spreadOver("192.0.2.0/24"))], 1);
    expect(announcer.wanted).toEqual(["192.0.2.1/32"]);
  });
});

describe("an attack that widens", () => {
  test("takes its ban with it: the old route stays until the new one is out", async () => {
    const { engine, announcer, disk } = banned();
    engine.attacksChanged([started(spreadOver(NARROW))], 0);
    announcer.states.set(WIDE, { kind: "pending" });
    engine.attacksChanged([lasts(spreadOver(WIDE))], 1000);
    expect(announcer.wanted).toEqual([WIDE, NARROW]);
    engine.tick(1250);
    expect(announcer.wanted).toEqual([WIDE, NARROW]);
    announcer.states.delete(WIDE);
    engine.tick(1500);
    expect(announcer.wanted).toEqual([WIDE]);
    expect([...engine.active.values()]).toMatchObject([{ id: "ban-1", startedAt: 0, prefix: { text: WIDE } }]);
    await flush(engine);
    expect([...disk.values()].map(({ prefix }) => prefix.text)).toEqual([WIDE]);
    engine.attacksChanged([ended(spreadOver(WIDE))], 2000);
    expect(announcer.wanted).toEqual([]);
  });

  test("counts with the addresses of the wider prefix from then on", () => {
    const { engine } = banned({ maxBannedFraction: 0.5, addresses: () => 2048 });
    engine.attacksChanged([started(spreadOver(NARROW))], 0);
    engine.attacksChanged([lasts(spreadOver(WIDE))], 1);
    engine.attacksChanged([started(attackOn(victim))], 2);
    expect(engine.banOf(attackOn(victim))).toMatchObject({ reason: "max_banned_fraction reached" });
    engine.attacksChanged([ended(spreadOver(WIDE)), lasts(attackOn(victim))], 3);
    expect([...engine.active.keys()]).toEqual(["192.0.2.1/32"]);
  });

  test("takes its rules with it, for the wider prefix", () => {
    const { engine, announcer } = banned({}, "flowspec");
    const attack = classified(spreadOver(NARROW), "udp_flood");
    engine.attacksChanged([started(attack)], 0);
    const wide = { ...attack, carpet: { prefix: WIDE, hosts: 100 } };
    engine.attacksChanged([lasts(wide)], 1000);
    expect(announcer.wanted).toEqual([`flow dst ${WIDE} proto udp`, `flow dst ${NARROW} proto udp`]);
    engine.tick(1250);
    expect(announcer.wanted).toEqual([`flow dst ${WIDE} proto udp`]);
    engine.attackClassified(classified(wide, "syn_flood"), 1300);
    engine.tick(1500);
    expect(announcer.wanted).toEqual([`flow dst ${WIDE} proto tcp`]);
  });

  test("leaves its ban as wide as it may be, and keeps that in force", () => {
    const { engine, announcer } = banned({ maxBannedFraction: 0.5, addresses: () => 1024 });
    engine.attacksChanged([started(spreadOver(NARROW))], 0);
    for (let ms = 1000; ms < 900_000; ms += 1000) {
      engine.attacksChanged([lasts(spreadOver(WIDE))], ms);
      engine.tick(ms);
    }
    expect(announcer.wanted).toEqual([NARROW]);
    expect(engine.all()).toMatchObject([{ state: "active", prefix: { text: NARROW } }]);
    expect(engine.banOf(spreadOver(WIDE))).toMatchObject({ prefix: { text: NARROW } });
    engine.attacksChanged([ended(spreadOver(WIDE))], 900_000);
    expect(announcer.wanted).toEqual([]);
  });

  test("to a banned prefix shares that ban, and ends its own", () => {
    const { engine, announcer } = banned();
    const [one, other] = [spreadOver(NARROW, "one"), spreadOver(WIDE, "other")];
    engine.attacksChanged([started(one), started(other)], 0);
    engine.attacksChanged([lasts(spreadOver(WIDE, "one")), lasts(other)], 1000);
    expect(announcer.wanted).toEqual([WIDE]);
    expect([...engine.active.values()]).toMatchObject([{ heldBy: ["other", "one"] }]);
    engine.attacksChanged([ended(other), lasts(spreadOver(WIDEST, "one"))], 2000);
    engine.tick(2250);
    expect(announcer.wanted).toEqual([WIDEST]);
    engine.attacksChanged([ended(spreadOver(WIDEST, "one"))], 3000);
    expect(announcer.wanted).toEqual([]);
  });
});

describe("an operator", () => {
  test("lifts the ban of a prefix by its first address, that of the address itself first", async () => {
    const { engine, announcer } = banned();
    engine.attacksChanged([started(spreadOver("192.0.2.0/24"))], 0);
    await banBy(engine, address("192.0.2.0"), 1);
    expect(announcer.wanted).toEqual(["192.0.2.0/24", "192.0.2.0/32"]);
    expect(await unbanBy(engine, address("192.0.2.7"), 2)).toBeNull();
    expect(await unbanBy(engine, address("192.0.2.0"), 3)).toMatchObject({ prefix: { text: "192.0.2.0/32" } });
    expect(await unbanBy(engine, address("192.0.2.0"), 4)).toMatchObject({ prefix: { text: "192.0.2.0/24" } });
    expect(await unbanBy(engine, address("192.0.2.0"), 5)).toBeNull();
    engine.attacksChanged([lasts(spreadOver("192.0.2.0/24"))], 6);
    expect(announcer.wanted).toEqual([]);
  });
});

describe("what an operator ordered for a prefix", () => {
  const order = { prefix: prefix(NARROW), ...buildOrder({ method: "flowspec", communities: ["64500:7"] }) };

  test("does not widen with its attack, which gets a ban of its own", async () => {
    const { engine, announcer } = banned();
    await engine.ban(order, () => 0);
    const attack = classified(spreadOver(NARROW), "udp_flood");
    engine.attacksChanged([started(attack)], 1000);
    const wide = classified(spreadOver(WIDE), "udp_flood");
    engine.attacksChanged([lasts(wide)], 2000);
    engine.attacksChanged([lasts(wide)], 2100);
    expect(announcer.wanted).toEqual([WIDE, `flow dst ${NARROW}`]);
    expect([...engine.active.values()]).toMatchObject([
      { prefix: { text: NARROW }, manual: true, heldBy: [], ordered: order.terms },
      { prefix: { text: WIDE }, manual: false, heldBy: ["spread"], attackId: "spread", method: "blackhole" },
    ]);
    engine.attacksChanged([ended(wide)], 3000);
    expect([...engine.active.keys()]).toEqual([NARROW]);
  });

  test("is kept in force by its attack where the wider prefix may not be banned", async () => {
    const { engine, seen } = banned({ spread: spreadTerms("blackhole", { refused: [WIDE] }) });
    await engine.ban(order, () => 0);
    engine.attacksChanged([started(spreadOver(NARROW))], 1000);
    for (const at of [2000, 900_000]) engine.attacksChanged([lasts(spreadOver(WIDE))], at);
    expect([...engine.active.values()]).toMatchObject([{ prefix: { text: NARROW }, heldBy: ["spread"] }]);
    expect(engine.active.get(NARROW)?.expiresAt).toBe(1_500_000);
    expect(seen.filter((change) => change.endsWith("rejected"))).toHaveLength(1);
  });

  test("in dry run becomes real by an attack only where prefixes are banned", async () => {
    const { engine, announcer } = harness();
    await engine.ban({ ...order, isDryRun: true }, () => 0);
    engine.attacksChanged([started(spreadOver(NARROW))], 1000);
    engine.reconfigure(policy({ spread: spreadTerms("blackhole", { refused: [NARROW] }) }), 2000);
    engine.attacksChanged([lasts(spreadOver(NARROW))], 3000);
    expect(engine.active.get(NARROW)).toMatchObject({ dryRun: true, manual: true });
    engine.reconfigure(policy({ spread: spreadTerms("blackhole") }), 4000);
    expect(engine.active.get(NARROW)).toMatchObject({ dryRun: false, manual: false, method: "blackhole" });
    expect(announcer.wanted).toEqual([NARROW]);
  });
});

describe("a reload", () => {
  test("that bans no prefixes any more, or not this one, ends its ban", () => {
    const { engine, announcer } = banned();
    const attack = spreadOver(NARROW);
    engine.attacksChanged([started(attack)], 0);
    engine.reconfigure(policy({ spread: spreadTerms("blackhole", { refused: [NARROW] }) }), 1);
    expect(engine.banOf(attack)).toMatchObject({ state: "withdrawn", reason: "target is whitelisted" });
    engine.reconfigure(policy({ spread: spreadTerms("divert") }), 2);
    engine.attacksChanged([lasts(attack)], 3);
    expect(announcer.routes).toMatchObject([{ prefix: { text: NARROW }, nextHop: "198.51.100.2" }]);
    engine.reconfigure(policy(), 4);
    expect(engine.banOf(attack)).toMatchObject({ state: "withdrawn", reason: "prefixes are not banned" });
    expect(announcer.wanted).toEqual([]);
  });
});

describe("a restart", () => {
  test("restores the ban of a prefix, which follows its attack further", async () => {
    const before = banned();
    before.engine.attacksChanged([started(spreadOver(NARROW))], 0);
    await flush(before.engine);
    const after = banned();
    after.engine.restore({ bans: [...before.disk.values()], attacks: [spreadOver(NARROW)] }, 1);
    expect(after.announcer.wanted).toEqual([NARROW]);
    after.engine.attacksChanged([lasts(spreadOver(WIDE))], 1000);
    after.engine.tick(1250);
    expect(after.announcer.wanted).toEqual([WIDE]);
    expect([...after.engine.active.values()]).toMatchObject([{ id: "ban-1" }]);
  });

  test("in the middle of a move has the old prefix, and moves again", async () => {
    const before = banned();
    before.engine.attacksChanged([started(spreadOver(NARROW))], 0);
    await flush(before.engine);
    before.engine.attacksChanged([lasts(spreadOver(WIDE))], 1000);
    const after = banned();
    after.engine.restore({ bans: [...before.disk.values()], attacks: [spreadOver(WIDE)] }, 1100);
    expect(after.announcer.wanted).toEqual([NARROW]);
    after.engine.attacksChanged([lasts(spreadOver(WIDE))], 1200);
    after.engine.tick(1250);
    expect(after.announcer.wanted).toEqual([WIDE]);
  });

  test("that knows the attack as it began leaves the ban as wide as it grew", async () => {
    const before = banned();
    before.engine.attacksChanged([started(spreadOver(NARROW))], 0);
    before.engine.attacksChanged([lasts(spreadOver(WIDE))], 1000);
    await flush(before.engine);
    const after = banned();
    after.engine.restore({ bans: [...before.disk.values()], attacks: [spreadOver(NARROW)] }, 1100);
    after.engine.attacksChanged([lasts(spreadOver(NARROW))], 2000);
    after.engine.tick(2250);
    expect(after.announcer.wanted).toEqual([WIDE]);
    after.engine.attacksChanged([ended(spreadOver(NARROW))], 3000);
    expect(after.announcer.wanted).toEqual([]);
  });

  test("of a service without detection leaves bans of attacks until they expire", async () => {
    const before = banned();
    before.engine.attacksChanged([started(spreadOver(NARROW)), started(attackOn(victim))], 0);
    await flush(before.engine);
    const after = banned();
    after.engine.restore({ bans: [...before.disk.values()], attacks: null }, 1);
    after.engine.tick(599_999);
    expect(after.announcer.wanted).toEqual([NARROW, hostPrefix(victim).text]);
    after.engine.tick(600_000);
    expect(after.engine.all().map(({ reason }) => reason)).toEqual(["ttl expired", "ttl expired"]);
    expect(after.announcer.wanted).toEqual([]);
  });
});

test("a part of a prefix that was banned shortly before is a repetition", () => {
  const ban = { repeatWindowSeconds: 60, repeatHoldSeconds: 100 };
  const { engine } = harness({ spread: spreadTerms("blackhole", { ban }) });
  engine.attacksChanged([started(spreadOver(WIDE, "a"))], 0);
  engine.attacksChanged([ended(spreadOver(WIDE, "a"))], 1000);
  engine.attacksChanged([started(spreadOver(NARROW, "b"))], 2000);
  expect([...engine.active.values()]).toMatchObject([{ repeat: 1, holdUntil: 102_000 }]);
});
