/** Bans as operators order them, in the ban engine. */
import { describe, expect, test } from "bun:test";
import {
  attackOn,
  classified,
  harness,
  lasts,
  policy,
  started,
  under,
  victim,
} from "../../../test/fixtures/mitigation/ban-engine.ts";
import { communitiesOf } from "../../../test/fixtures/networks.ts";
import { MemoryState } from "../../../test/fixtures/storage/memory-state.ts";
import { hostPrefix, type Prefix, parsePrefix } from "../../net/prefix.ts";
import type { Ban } from "../ban.ts";
import type { BanEngine } from "../ban-engine.ts";
import { type BanOrder, plainOrder } from "./ban-order.ts";
import { buildOrder, type OrderFile } from "./order-file.ts";

const WIDE = parsePrefix("192.0.2.0/26") as Prefix;
const CHARGEN: OrderFile = {
  rules: [{ protocol: "udp", source_ports: ["19"], ports: [], packet_lengths: [] }],
  rate_mbps: 8,
};

const order = (prefix: Prefix, file: OrderFile): BanOrder => ({ prefix, ...buildOrder(file) });
const orderBy = async (engine: BanEngine, given: BanOrder, wallMs = 0): Promise<Ban> =>
  (await engine.ban(given, () => wallMs)).ban;

describe("an order", () => {
  test("of rules at a rate, for named neighbors with communities, announces exactly that, also after a restart", async () => {
    const file = new MemoryState();
    const { engine, announcer, disk } = harness({}, {}, file);
    const communities = communitiesOf("64500:7");
    const terms = { ...CHARGEN, communities: ["64500:7"], neighbors: ["edge1"], ttl_seconds: 60, reason: "ticket 7" };
    const ban = await orderBy(engine, order(WIDE, terms));
    const rule = { action: { kind: "rate_limit", bytesPerSecond: 1e6 }, sourcePorts: [{ from: 19, to: 19 }] };
    const route = { prefix: WIDE, rule: { ...rule, destination: WIDE }, communities, neighbors: ["edge1"] };
    expect(announcer.routes).toMatchObject([{ ...route, areCommunitiesOrdered: true }]);
    expect(ban).toMatchObject({ method: "flowspec", expiresAt: 60_000, orderReason: "ticket 7", manual: true });
    const next = harness({}, {}, file);
    next.engine.restore({ bans: [...disk.values()], attacks: [] }, 1000);
    expect(next.announcer.routes).toMatchObject([route]);
    next.engine.tick(60_000);
    expect(next.announcer.routes).toEqual([]);
  });

  test("prolongs, shortens and changes the ban in force, whose start stays", async () => {
    const { engine, announcer } = harness();
    await orderBy(engine, order(WIDE, CHARGEN));
    await orderBy(engine, { ...plainOrder(victim), prefix: WIDE, ttlSeconds: 5 }, 1000);
    expect(engine.active.get(WIDE.text)).toMatchObject({ startedAt: 0, expiresAt: 6000, method: "flowspec" });
    await orderBy(engine, order(WIDE, { method: "blackhole", communities: ["64500:9"] }), 2000);
    expect(announcer.wanted).toContain(WIDE.text);
    expect(engine.active.get(WIDE.text)).toMatchObject({
      method: "blackhole",
      measure: { route: { communities: communitiesOf("64500:9") } },
    });
    const by = { operator: "noc", reason: "over" };
    expect((await engine.unban(WIDE, 3000, by))?.ban).toMatchObject({ state: "withdrawn", endedBy: by });
    expect(announcer.wanted).toEqual([]);
  });

  test("of a method takes the place of the ladder, for an address under attack, too", async () => {
    const ladder = [
      { afterSeconds: 0, action: "blackhole" as const },
      { afterSeconds: 10, action: "divert" as const },
    ];
    const { engine, announcer } = harness(under({ ladder }));
    const attack = classified(attackOn(), "dns_amplification");
    engine.attacksChanged([started(attack)], 0);
    await orderBy(engine, order(hostPrefix(victim), { method: "flowspec" }), 1000);
    engine.tick(20_000);
    const routes = announcer.routes.filter(({ kind }) => kind === "flowspec");
    expect(routes).toMatchObject([{ rule: { protocols: [{ from: 17, to: 17 }], action: { kind: "discard" } } }]);
    expect(engine.active.get(hostPrefix(victim).text)).toMatchObject({ method: "flowspec", escalation: null });
  });

  test("of one of several communities alone changes the routes of the same rules", async () => {
    const { engine, announcer } = harness();
    await orderBy(engine, order(WIDE, { ...CHARGEN, communities: ["64500:1"] }));
    await orderBy(engine, order(WIDE, { ...CHARGEN, communities: ["64500:2"] }), 1000);
    expect(announcer.routes.map(({ communities }) => communities)).toEqual([communitiesOf("64500:2")]);
  });
});

describe("an order in dry run", () => {
  test("becomes real by another order alone, not by a reload that goes live #ban-command-in-dry-run-stays", async () => {
    const { engine, announcer } = harness({ dryRun: true });
    await orderBy(engine, plainOrder(victim));
    engine.reconfigure(policy(), 1000);
    expect(announcer.wanted).toEqual([]);
    expect(engine.active.get(hostPrefix(victim).text)).toMatchObject({ dryRun: true });
    await orderBy(engine, plainOrder(victim), 2000);
    expect(announcer.wanted).toEqual([hostPrefix(victim).text]);
  });

  test("does not keep an attack from its ban: that takes its place", async () => {
    const { engine, announcer } = harness();
    const virtual = await orderBy(engine, { ...order(hostPrefix(victim), CHARGEN), isDryRun: true });
    expect(virtual).toMatchObject({ dryRun: true, measure: { rules: [{ sourcePorts: [{ from: 19, to: 19 }] }] } });
    expect(announcer.wanted).toEqual([]);
    const attack = attackOn();
    engine.attacksChanged([started(attack)], 1000);
    expect(engine.active.get(hostPrefix(victim).text)).toMatchObject({ dryRun: false, manual: false });
    expect(announcer.wanted).toEqual([hostPrefix(victim).text]);
    engine.attacksChanged([{ kind: "ended", attack: { ...attack, endedAt: 2000 } }], 2000);
    expect(announcer.wanted).toEqual([]);
  });

  test("counts from the attack that takes its place: its rungs, its cause and its size", async () => {
    const ladder = [
      { afterSeconds: 0, action: "flowspec" as const },
      { afterSeconds: 60, action: "blackhole" as const },
    ];
    const { engine } = harness(under({ ladder }));
    await orderBy(engine, { ...plainOrder(victim), isDryRun: true });
    engine.tick(90_000);
    const attack = classified(attackOn(), "dns_amplification");
    engine.attacksChanged([started(attack)], 100_000);
    const taken = () => engine.active.get(hostPrefix(victim).text);
    expect(taken()).toMatchObject({ dryRun: false, step: 0, method: "flowspec", countedFrom: 100_000 });
    expect(taken()).toMatchObject({ attackId: attack.id, metric: "pps", rate: 5000, threshold: 1000 });
    engine.tick(159_000);
    expect(taken()).toMatchObject({ step: 0 });
    engine.tick(160_000);
    expect(taken()).toMatchObject({ step: 1, method: "blackhole" });
  });

  test("is not taken by an attack beyond the addresses that may be banned, a calm one, or one that an operator excluded", async () => {
    const taken = (engine: BanEngine) => engine.active.get(hostPrefix(victim).text)?.dryRun === false;
    const virtual = async (overrides: Parameters<typeof harness>[0] = {}) => {
      const made = harness(overrides);
      await orderBy(made.engine, { ...plainOrder(victim), isDryRun: true });
      return made;
    };
    const full = await virtual({ maxBannedFraction: 0.001, addresses: () => 256 });
    full.engine.attacksChanged([started(attackOn())], 1000);
    expect(taken(full.engine)).toBe(false);
    full.engine.reconfigure(policy({ maxBannedFraction: 0.5 }), 2000);
    expect(taken(full.engine)).toBe(true);

    const calm = await virtual();
    calm.engine.attacksChanged([started({ ...attackOn(), calmSinceMs: 5 })], 1000);
    expect(taken(calm.engine)).toBe(false);
    calm.engine.attacksChanged([lasts(attackOn())], 2000);
    expect(taken(calm.engine)).toBe(true);

    const { engine } = harness();
    engine.attacksChanged([started(attackOn())], 0);
    await engine.unban(victim, 10);
    await orderBy(engine, { ...plainOrder(victim), isDryRun: true }, 20);
    engine.attacksChanged([lasts(attackOn())], 30);
    expect(taken(engine)).toBe(false);
    engine.attacksChanged([started(attackOn(victim, "another"))], 40);
    expect(taken(engine)).toBe(true);
  });

  test("is refused where a ban is in force, which would end by it", async () => {
    const { engine, announcer } = harness();
    engine.attacksChanged([started(attackOn())], 0);
    const ban = await orderBy(engine, { ...plainOrder(victim), isDryRun: true });
    expect(ban).toMatchObject({ state: "rejected", reason: expect.stringContaining("unban it first") });
    expect(announcer.wanted).toEqual([hostPrefix(victim).text]);
  });
});

describe("dry run of a hostgroup and a direction", () => {
  const outgoing = { ...attackOn(victim, "out"), direction: "outgoing" as const };
  const isDryRun = (_: Prefix, direction: string) => direction === "incoming";

  test("a ban is real as soon as one of its attacks is not in dry run #ban-dry-run-directions", () => {
    const { engine, announcer } = harness({ isDryRun });
    engine.attacksChanged([started(attackOn())], 0);
    expect(announcer.wanted).toEqual([]);
    engine.attacksChanged([lasts(attackOn()), started(outgoing)], 100);
    engine.reconfigure(policy({ isDryRun }), 200);
    expect(announcer.wanted).toEqual([hostPrefix(victim).text]);
  });

  test("a ban of an attack that is not in dry run stays real when an operator prolongs it", async () => {
    const { engine, announcer } = harness({ isDryRun });
    engine.attacksChanged([started(outgoing)], 0);
    await orderBy(engine, plainOrder(victim), 100);
    engine.reconfigure(policy({ isDryRun }), 200);
    expect(announcer.wanted).toEqual([hostPrefix(victim).text]);
    engine.attacksChanged([{ kind: "ended", attack: { ...outgoing, endedAt: 300 } }], 300);
    engine.reconfigure(policy({ isDryRun }), 400);
    expect(engine.active.get(hostPrefix(victim).text)).toMatchObject({ dryRun: true, manual: true });
  });
});
