import { describe, expect, test } from "bun:test";
import { address, thresholds } from "../../test/fixtures/host-rows.ts";
import {
  attackOn,
  banBy,
  ended,
  flush,
  harness,
  lasts,
  policy,
  started,
  unbanBy,
  under,
  unsavedOf,
  victim,
  WHITELISTED,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import { hostPrefix } from "../net/prefix.ts";
import { admit } from "./admission.ts";
import { plainOrder } from "./order/ban-order.ts";
import { BANS_REVIEWED } from "./review-turn.ts";

describe("admission", () => {
  const everything = { isBanned: true, active: 99, addresses: () => 256 };
  const free = { isBanned: false, active: 1, addresses: () => 1 };
  const request = (target = victim, isCoolingDown = true) => ({ target, prefix: hostPrefix(target), isCoolingDown });

  test("checks the whitelist, the networks, an active ban, the cooldown, the cap and the fraction in this order", () => {
    const strict = policy({ maxBannedFraction: 0.5 });
    const nowhere = policy({ isInNetworks: () => false });
    expect(admit(request(WHITELISTED), nowhere, everything)).toMatchObject({ reason: "whitelisted" });
    expect(admit(request(address("203.0.113.1")), strict, everything)).toMatchObject({
      reason: "outside configured networks",
    });
    expect(admit(request(), strict, everything)).toEqual({ kind: "refresh" });
    const unbanned = { ...everything, isBanned: false };
    expect(admit(request(), strict, unbanned)).toMatchObject({ reason: "cooldown after unban" });
    expect(admit(request(victim, false), strict, unbanned)).toMatchObject({ reason: "max_active_bans reached" });
    expect(admit(request(victim, false), strict, { ...unbanned, active: 1 })).toMatchObject({
      reason: "max_banned_fraction reached",
    });
    expect(admit(request(victim, false), strict, free)).toEqual({ kind: "admitted" });
  });

  test("lets as many addresses be banned as the fraction says, and no more", () => {
    const strict = policy({ maxBannedFraction: 0.25, addresses: () => 8 });
    expect(admit(request(victim, false), strict, free)).toEqual({ kind: "admitted" });
    expect(admit(request(victim, false), strict, { ...free, addresses: () => 2 })).toMatchObject({
      reason: "max_banned_fraction reached",
    });
  });
});

test("orders that the disk takes at once are one set of routes, which is wanted before they are answered", async () => {
  const { engine, announcer } = harness({ maxActiveBans: 50 });
  const hosts = Array.from({ length: 20 }, (_, i) => address(`192.0.2.${100 + i}`));
  await Promise.all(hosts.map((host) => banBy(engine, host, 1000)));
  // The first is written by itself.
  expect([announcer.wanted.length, announcer.calls]).toEqual([20, 2]);
  await Promise.all(hosts.map((host) => unbanBy(engine, host, 2000)));
  expect([announcer.wanted.length, announcer.calls]).toEqual([0, 3]);
});

describe("an attack", () => {
  test("has its route among the wanted ones by its size, after those of manual bans", async () => {
    const { engine, announcer } = harness({ maxActiveBans: 9 });
    const of = (host: number, pps: number) => ({ ...attackOn(address(`192.0.2.${host}`)), rates: thresholds({ pps }) });
    engine.attacksChanged([started(of(1, 90_000)), started(of(2, 800_000)), started(of(3, 95_000))], 1000);
    await banBy(engine, address("192.0.2.4"), 1000);
    expect(announcer.routes.map(({ prefix }) => prefix.address as string)).toEqual([
      "192.0.2.4",
      "192.0.2.2",
      "192.0.2.3",
      "192.0.2.1",
    ]);
  });

  test("bans its target, keeps the ban and lifts it at the end", async () => {
    const { engine, announcer, disk } = harness();
    const attack = attackOn();
    engine.attacksChanged([started(attack)], 1000);
    expect(announcer.wanted).toEqual(["192.0.2.1/32"]);
    expect(engine.banOf(attack)).toMatchObject({
      state: "active",
      manual: false,
      metric: "pps",
      rate: 5000,
      threshold: 1000,
    });
    engine.attacksChanged([lasts(attack)], 500_000);
    expect(engine.banOf(attack)?.expiresAt).toBe(1_100_000);
    engine.attacksChanged([ended(attack)], 500_100);
    expect(announcer.wanted).toEqual([]);
    expect(engine.banOf(ended(attack).attack)).toMatchObject({ state: "withdrawn", reason: "attack ended" });
    expect(disk.size).toBe(0);
    await flush(engine);
    expect([...disk.values()].map((ban) => ban.state)).toEqual(["withdrawn"]);
  });

  test("whose ban is refused requests it again while it lasts", () => {
    const { engine, announcer } = harness({ maxActiveBans: 1 });
    const [first, second] = [attackOn(), attackOn(address("192.0.2.2"))];
    engine.attacksChanged([started(first)], 0);
    engine.attacksChanged([started(second)], 0);
    expect(engine.banOf(second)).toMatchObject({ state: "rejected", reason: "max_active_bans reached" });
    engine.attacksChanged([lasts(second)], 100);
    engine.attacksChanged([ended(first)], 200);
    engine.attacksChanged([lasts(second)], 300);
    expect(engine.banOf(second)?.state).toBe("active");
    expect(announcer.wanted).toEqual(["192.0.2.2/32"]);
  });

  test("on a whitelisted host leaves one rejected ban behind, however long it lasted", () => {
    const { engine, seen } = harness();
    const attack = attackOn(WHITELISTED);
    engine.attacksChanged([started(attack)], 0);
    for (let i = 0; i < 5; i++) engine.attacksChanged([lasts(attack)], i * 100);
    expect(seen).toEqual(["192.0.2.53 rejected"]);
    engine.attacksChanged([ended(attack)], 1000);
    expect(engine.banOf(ended(attack).attack)).toMatchObject({ state: "rejected", reason: "whitelisted" });
    expect(engine.all()).toHaveLength(1);
  });

  test("gets no second ban after an operator lifted the first; the next attack does", async () => {
    const { engine } = harness();
    const attack = attackOn();
    engine.attacksChanged([started(attack)], 0);
    await unbanBy(engine, victim, 100);
    engine.attacksChanged([lasts(attack)], 200);
    expect(engine.active.size).toBe(0);
    engine.attacksChanged([ended(attack)], 300);
    engine.attacksChanged([started(attackOn(victim, "another"))], 400);
    expect(engine.active.size).toBe(1);
  });
});

describe("an operator", () => {
  test("bans, refreshes and lifts", async () => {
    const { engine, announcer, disk } = harness();
    expect(await banBy(engine, victim, 1000)).toMatchObject({
      state: "active",
      manual: true,
      rate: 0,
      startedAt: 1000,
    });
    expect(await banBy(engine, victim, 61_000)).toMatchObject({ startedAt: 1000, expiresAt: 661_000 });
    expect(announcer.wanted).toEqual(["192.0.2.1/32"]);
    expect(await unbanBy(engine, victim, 62_000)).toMatchObject({ state: "withdrawn", reason: "manual unban" });
    expect(announcer.wanted).toEqual([]);
    expect(await unbanBy(engine, victim, 63_000)).toBeNull();
    expect(disk.size).toBe(1);
  });

  test("gets a preview of a ban, and nothing is changed", async () => {
    const { engine, announcer, disk } = harness();
    expect(engine.preview(plainOrder(victim), 1000)).toMatchObject({
      state: "active",
      manual: true,
      expiresAt: 601_000,
    });
    expect(engine.preview(plainOrder(WHITELISTED), 1000)).toMatchObject({ state: "rejected", reason: "whitelisted" });
    expect([engine.all(), announcer.calls, disk.size]).toEqual([[], 0, 0]);
    const held = await banBy(engine, victim, 1000);
    expect(engine.preview(plainOrder(victim), 61_000)).toMatchObject({ startedAt: 1000, expiresAt: 661_000 });
    expect(engine.active.get(hostPrefix(victim).text)).toBe(held);
  });

  test("is refused, and the refusal is not in the list of bans", async () => {
    const { engine } = harness();
    expect(await banBy(engine, WHITELISTED, 0)).toMatchObject({ state: "rejected", reason: "whitelisted" });
    expect(await banBy(engine, address("203.0.113.9"), 0)).toMatchObject({ reason: "outside configured networks" });
    expect(engine.all()).toEqual([]);
  });

  test("gets an error when the disk is full, and nothing is announced; an unban is in force, and stored later", async () => {
    const { engine, announcer, file, disk } = harness();
    file.isBroken = true;
    expect(banBy(engine, victim, 0)).rejects.toThrow("disk full");
    expect(announcer.wanted).toEqual([]);
    file.isBroken = false;
    await banBy(engine, victim, 0);
    file.isBroken = true;
    expect(await engine.unban(victim, 1)).toMatchObject({ ban: { state: "withdrawn" }, isSaved: false });
    expect([announcer.wanted, unsavedOf(engine)]).toEqual([[], 1]);
    file.isBroken = false;
    await flush(engine);
    expect([...disk.values()].map(({ state }) => state)).toEqual(["withdrawn"]);
  });
});

describe("time and policy", () => {
  test("a reload converts existing bans to and from dry run", async () => {
    const { engine, announcer } = harness();
    await banBy(engine, victim, 0);
    engine.reconfigure(policy({ dryRun: true }), 1);
    expect(announcer.wanted).toEqual([]);
    engine.reconfigure(policy(), 2);
    expect(announcer.wanted).toEqual(["192.0.2.1/32"]);
  });

  test("a refused ban is reported again when dry run ends, and only once", () => {
    const { engine } = harness({ dryRun: true, maxActiveBans: 0 });
    engine.attacksChanged([started(attackOn())], 0);
    engine.reconfigure(policy({ maxActiveBans: 0 }), 1);
    engine.attacksChanged([lasts(attackOn())], 2);
    expect(engine.all()).toMatchObject([{ state: "rejected", dryRun: false, startedAt: 2 }]);
    engine.attacksChanged([lasts(attackOn())], 3);
    expect(engine.all()).toMatchObject([{ startedAt: 2 }]);
  });

  test("a reload that shrinks the networks ends the bans outside", async () => {
    const { engine, announcer } = harness();
    await banBy(engine, victim, 0);
    engine.reconfigure(policy({ isInNetworks: () => false }), 1);
    expect(engine.all()[0]?.reason).toBe("target left configured networks");
    expect(announcer.wanted).toEqual([]);
  });

  test("a reload that names the banned address as a neighbor ends its ban, and keeps it from being banned again", async () => {
    const { engine, announcer } = harness();
    engine.attacksChanged([started(attackOn())], 0);
    const refusal = "own infrastructure: 192.0.2.1 is bgp.neighbors[0].address; to ban it, change that key first";
    engine.reconfigure(policy({ ownRefusal: (ip) => (ip === victim ? refusal : null) }), 1);
    expect(engine.all()[0]).toMatchObject({ state: "withdrawn", reason: `target is ${refusal}` });
    expect(announcer.wanted).toEqual([]);
    engine.attacksChanged([lasts(attackOn())], 2);
    expect(engine.banOf(attackOn())).toMatchObject({ state: "rejected", reason: refusal });
    expect(await banBy(engine, victim, 3)).toMatchObject({ state: "rejected", reason: refusal });
  });

  test("an automatic ban holds while the store fails, and is stored when it works again", async () => {
    const { engine, announcer, file, refusals, disk } = harness();
    file.isBroken = true;
    engine.attacksChanged([started(attackOn())], 0);
    expect(announcer.wanted).toEqual(["192.0.2.1/32"]);
    await flush(engine);
    expect(unsavedOf(engine)).toBe(1);
    expect(refusals.length).toBe(1);
    file.isBroken = false;
    await flush(engine);
    expect(unsavedOf(engine)).toBe(0);
    expect([...disk.values()].map((ban) => ban.target)).toEqual([victim]);
  });

  test("ended bans are kept up to a bound, here and on disk", async () => {
    const { engine, disk } = harness({}, { endedKept: 2 });
    for (let i = 0; i < 4; i++) {
      await banBy(engine, victim, i);
      await unbanBy(engine, victim, i);
    }
    expect(engine.all().map((ban) => ban.startedAt)).toEqual([2, 3]);
    await flush(engine);
    expect([...disk.values()].map((ban) => ban.startedAt)).toEqual([2, 3]);
  });

  test("a ban that removes an old one from the table does not wait for the disk", () => {
    const { engine, announcer, file, refusals } = harness({}, { endedKept: 1 });
    for (const attack of [attackOn(), attackOn(address("192.0.2.2"))]) {
      engine.attacksChanged([started(attack)], 0);
      engine.attacksChanged([ended(attack)], 1);
    }
    file.isBroken = true;
    engine.attacksChanged([started(attackOn())], 2);
    engine.attacksChanged([ended(attackOn())], 3);
    expect(refusals.length).toBe(0);
    engine.attacksChanged([started(attackOn())], 4);
    expect(announcer.wanted).toEqual(["192.0.2.1/32"]);
  });

  test("of many bans all climb in a few ticks, and all end in time", () => {
    const ladder = [
      { afterSeconds: 0, action: "none" },
      { afterSeconds: 10, action: "blackhole" },
    ] as const;
    const { engine, announcer } = harness({ ...under({ ladder }), maxActiveBans: 5000, isInNetworks: () => true });
    const targets = Array.from({ length: BANS_REVIEWED + 1 }, (_, i) => address(`10.0.${i >> 8}.${i & 0xff}`));
    engine.attacksChanged(
      targets.map((target) => started(attackOn(target))),
      0,
    );
    engine.tick(10_000);
    expect(announcer.wanted).toHaveLength(BANS_REVIEWED);
    engine.tick(10_250);
    expect(announcer.wanted).toHaveLength(BANS_REVIEWED + 1);
    engine.tick(600_000);
    expect(engine.active.size).toBe(0);
  });

  test("many changes at once are one set of routes", () => {
    const { engine, announcer } = harness({ maxActiveBans: 50 });
    const attacks = Array.from({ length: 50 }, (_, i) => attackOn(address(`192.0.2.${i + 100}`)));
    engine.attacksChanged(attacks.map(started), 0);
    expect(announcer).toMatchObject({ calls: 1, wanted: { length: 50 } });
    engine.reconfigure(policy({ dryRun: true }), 1);
    expect(announcer).toMatchObject({ calls: 2, wanted: [] });
    engine.reconfigure(policy(), 2);
    engine.tick(600_000);
    expect(announcer).toMatchObject({ calls: 4, wanted: [] });
  });
});

describe("a restart", () => {
  test("restores a ban whose attack lasts, and ends one whose attack was never stored", async () => {
    const before = harness();
    const [known, lost] = [attackOn(), attackOn(address("192.0.2.2"))];
    before.engine.attacksChanged([started(known), started(lost)], 0);
    await flush(before.engine);
    const after = harness();
    after.engine.restore({ bans: [...before.disk.values()], attacks: [known] }, 1);
    expect(after.announcer.wanted).toEqual(["192.0.2.1/32"]);
    expect(after.engine.banOf(lost)).toMatchObject({ state: "withdrawn", reason: "attack ended" });
  });

  test("does not restore a ban that ended before the last manual one", async () => {
    const before = harness();
    const attack = attackOn();
    before.engine.attacksChanged([started(attack)], 0);
    await flush(before.engine);
    before.engine.attacksChanged([ended(attack)], 1);
    await banBy(before.engine, victim, 2);
    expect([...before.disk.values()].map(({ state }) => state)).toEqual(["withdrawn", "active"]);
  });

  test("restores active bans with their routes, and ends those that expired meanwhile", async () => {
    const before = harness();
    await banBy(before.engine, victim, 0);
    await banBy(before.engine, address("192.0.2.2"), 300_000);
    const after = harness();
    after.engine.restore({ bans: [...before.disk.values()], attacks: [] }, 700_000);
    expect(after.announcer.wanted).toEqual(["192.0.2.2/32"]);
    expect(
      after.engine
        .all()
        .map((ban) => ban.state)
        .sort(),
    ).toEqual(["active", "withdrawn"]);
  });

  test("after the clock was set back meanwhile keeps a ban no longer than it was made for", async () => {
    const before = harness();
    await banBy(before.engine, victim, 3_600_000);
    const after = harness();
    after.engine.restore({ bans: [...before.disk.values()], attacks: [] }, 1_000_000);
    expect(after.engine.active.get(hostPrefix(victim).text)?.expiresAt).toBe(1_600_000);
    after.engine.tick(1_600_000);
    expect(after.announcer.wanted).toEqual([]);
  });

  test("with a changed dry run or other networks converts the restored bans", async () => {
    const before = harness();
    await banBy(before.engine, victim, 0);
    const after = harness({ dryRun: true });
    after.engine.restore({ bans: [...before.disk.values()], attacks: [] }, 1);
    expect(after.announcer.wanted).toEqual([]);
    expect(after.engine.active.get(hostPrefix(victim).text)?.dryRun).toBe(true);
  });

  test("in the middle of an attack whose ban an operator lifted does not ban again", async () => {
    const before = harness();
    const attack = attackOn();
    before.engine.attacksChanged([started(attack)], 0);
    await unbanBy(before.engine, victim, 1);
    await flush(before.engine);
    const after = harness();
    after.engine.restore({ bans: [...before.disk.values()], attacks: [attack] }, 2);
    after.engine.attacksChanged([lasts(attack)], 3);
    expect(after.engine.active.size).toBe(0);
  });
});
