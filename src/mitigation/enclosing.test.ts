/** Wider prefixes that are announced for bans. */
import { describe, expect, test } from "bun:test";
import { address, thresholds } from "../../test/fixtures/host-rows.ts";
import {
  attackOn,
  harness,
  lasts,
  policy,
  spreadOver,
  spreadTerms,
  started,
  terms,
  under,
  victim,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import { NO_TENANTS } from "../access/shares.ts";
import { addressesIn, hostPrefix, type Prefix, parsePrefix, prefixContains } from "../net/prefix.ts";
import { PrefixTable } from "../net/prefix-table.ts";
import { NetworkLookup } from "../traffic/network-lookup.ts";
import { OwnInfrastructure } from "../traffic/own-infrastructure.ts";
import { ActiveBans } from "./active-bans.ts";
import type { Ban } from "./ban.ts";
import { EnclosingBounds, enclosingOf, notAnnounced } from "./enclosing.ts";
import { enclosingIn, NO_MEASURE } from "./measure.ts";
import { plainOrder } from "./order/ban-order.ts";

const prefix = (text: string) => parsePrefix(text) as Prefix;
const WIDE = prefix("192.0.2.0/24");
const other = address("192.0.2.7");

describe("the enclosing prefix", () => {
  const lengths = { 4: { length: 24, upTo: 24 }, 6: { length: 48, upTo: 64 } };

  test.each([
    ["192.0.2.7/32", "192.0.2.0/24"],
    ["192.0.2.128/25", "192.0.2.0/24"],
    ["192.0.2.0/24", null],
    ["192.0.0.0/22", null],
    ["2001:db8:1:2::3/128", "2001:db8:1::/48"],
    ["2001:db8:1:2::/64", null],
  ])("of %s is %s", (own, wider) => {
    expect(enclosingOf(prefix(own), lengths)?.text ?? null).toBe(wider);
  });

  test("is none without a length for the family", () => {
    expect(enclosingOf(prefix("2001:db8::1/128"), { 4: lengths[4] })).toBeNull();
    expect(enclosingOf(hostPrefix(other), undefined)).toBeNull();
  });
});

describe("an enclosing prefix is not announced", () => {
  const networks = [
    prefix("192.0.2.0/24"),
    prefix("198.51.100.0/25"),
    prefix("203.0.113.0/24"),
    prefix("2001:db8::/32"),
  ];
  const whitelisted = [prefix("192.0.2.53/32"), prefix("2001:db8:5::/64")];
  const bounds = new EnclosingBounds({
    networks,
    lookup: NetworkLookup.of({ networks, hostgroups: [] }),
    whitelist: PrefixTable.of(whitelisted),
    own: new OwnInfrastructure([
      { prefix: hostPrefix(address("203.0.113.9")), path: ["bgp", "neighbors", 0, "address"] },
    ]),
  });
  const own = "own infrastructure: 203.0.113.9 is bgp.neighbors[0].address; to ban it, change that key first";

  test.each([
    ["192.0.2.0/24", "192.0.2.53/32 of protected_whitelist would move with it"],
    ["192.0.2.0/26", "192.0.2.53/32 of protected_whitelist would move with it"],
    ["192.0.2.64/26", null],
    ["198.51.100.0/24", "it lies in none of networks as a whole"],
    ["198.51.100.0/25", null],
    ["203.0.113.0/24", own],
    ["203.0.113.128/25", null],
    ["2001:db8:5::/48", "2001:db8:5::/64 of protected_whitelist would move with it"],
    ["2001:db8:6::/48", null],
  ])("%s: %s", (text, why) => {
    const answer = why === null ? null : notAnnounced(prefix(text), why);
    // Twice: the second answer is a kept one.
    for (let i = 0; i < 2; i++) expect(bounds.refusalOf(prefix(text))).toBe(answer);
  });
});

const DIVERTED = { 4: { length: 24, upTo: 24 } };
const hops = terms();
const diverting = {
  method: "divert" as const,
  divert: hops.divert && { ...hops.divert, enclosing: DIVERTED },
};

describe("bans that are diverted by an enclosing prefix", () => {
  const ordered = (engine: ReturnType<typeof harness>["engine"], ...ips: (typeof other)[]) =>
    Promise.all(ips.map((ip) => engine.ban(plainOrder(ip), () => 0)));

  test("share one route, which stays until the last of them ends #announce-shared", async () => {
    const { engine, announcer } = harness(under(diverting));
    await ordered(engine, victim, other);
    expect(announcer.routes).toMatchObject([{ prefix: WIDE, isDivert: true }]);
    await engine.unban(victim, 1);
    expect(announcer.wanted).toEqual([WIDE.text]);
    await engine.unban(other, 2);
    expect(announcer.wanted).toEqual([]);
  });

  test("go to the scrub node of the oldest of them", async () => {
    const asked: (string | null)[] = [];
    const divertTo = ({ currentNode, prefix: { text } }: { currentNode: string | null; prefix: Prefix }) => {
      asked.push(currentNode);
      return { kind: "node" as const, name: currentNode ?? `of ${text}`, nextHop: address("198.51.100.7") };
    };
    const { engine } = harness(under(diverting), { divertTo });
    await engine.ban(plainOrder(other), () => 0);
    await engine.ban(plainOrder(victim), () => 1);
    engine.tick(2);
    const nodes = [...engine.active.values()].map(({ measure }) => measure.kind === "divert" && measure.node);
    expect(nodes).toEqual(["of 192.0.2.7/32", "of 192.0.2.7/32"]);
    expect(asked).toContain("of 192.0.2.7/32");
  });

  const refusal = notAnnounced(WIDE, "192.0.2.53/32 of protected_whitelist would move with it");
  test("are refused as orders of that method, with the reason", async () => {
    const { engine } = harness({ ...under(diverting), enclosingRefusal: () => refusal });
    const order = { ...plainOrder(victim), terms: { method: "divert" as const } };
    const { ban } = await engine.ban(order, () => 0);
    expect(ban).toMatchObject({ state: "rejected", reason: `order: ${refusal}` });
  });

  const refusing = { enclosingRefusal: () => refusal };

  test("take the next rung at once where the prefix is not announced #announce-refused", () => {
    const ladder = [
      { afterSeconds: 0, action: "divert" as const },
      { afterSeconds: 60, action: "blackhole" as const },
    ];
    const { engine, announcer } = harness({ ...under({ ...diverting, ladder }), ...refusing });
    engine.attacksChanged([started(attackOn(victim))], 0);
    expect(announcer.routes).toMatchObject([{ prefix: hostPrefix(victim) }]);
    expect(engine.active.get(hostPrefix(victim).text)).toMatchObject({ method: "blackhole", step: 1, fallback: null });
    engine.tick(1000);
    expect(engine.active.get(hostPrefix(victim).text)).toMatchObject({ method: "blackhole", step: 1 });
  });

  test("take the fallback on the last rung, with the reason", () => {
    const { engine, announcer } = harness({ ...under(diverting), ...refusing });
    engine.attacksChanged([started(attackOn(victim))], 0);
    expect(announcer.wanted).toEqual([hostPrefix(victim).text]);
    expect(engine.active.get(hostPrefix(victim).text)).toMatchObject({ method: "blackhole", fallback: refusal });
  });

  test("have failed where nothing is in its place", () => {
    const { engine, announcer } = harness({ ...under({ ...diverting, ban: { fallback: "none" } }), ...refusing });
    engine.attacksChanged([started(attackOn(victim))], 0);
    const ban = engine.active.get(hostPrefix(victim).text) as Ban;
    expect(announcer.wanted).toEqual([]);
    expect(engine.routeState(ban)).toEqual({ kind: "failed", cause: refusal });
  });

  test("are announced again as they are once the length is taken away", async () => {
    const { engine, announcer } = harness(under(diverting));
    await ordered(engine, victim, other);
    engine.reconfigure(policy(under({ method: "divert" })), 1);
    engine.tick(2);
    expect(announcer.wanted).toEqual([hostPrefix(victim).text, hostPrefix(other).text].sort());
  });
});

describe("a blackhole with an enclosing prefix for some neighbors", () => {
  const blackhole = hops.blackhole && { ...hops.blackhole, enclosing: DIVERTED };

  test("announces both, and counts the addresses of the wider one once", async () => {
    const { engine, announcer } = harness({ ...under({ blackhole }), maxBannedFraction: 1, addresses: () => 300 });
    await engine.ban(plainOrder(victim), () => 0);
    await engine.ban(plainOrder(other), () => 0);
    const own = [victim, other].map((ip) => hostPrefix(ip).text);
    expect(announcer.wanted).toEqual([...own, WIDE.text].sort());
    expect(announcer.routes.find(({ prefix: { text } }) => text === WIDE.text)).toMatchObject({ encloses: 32 });
    expect([...engine.active.values()].map(({ measure, prefix: own }) => enclosingIn(measure, own)?.text)).toEqual([
      WIDE.text,
      WIDE.text,
    ]);
  });

  test("withdraws the wider one at once where it is refused later, though no neighbor takes the other #announce-protected", async () => {
    const { engine, announcer } = harness(under({ blackhole, ban: { fallback: "none" } }));
    announcer.states.set(hostPrefix(victim).text, { kind: "failed", cause: "no neighbor takes it" });
    await engine.ban(plainOrder(victim), () => 0);
    const refusal = notAnnounced(WIDE, "192.0.2.53/32 of protected_whitelist would move with it");
    const after = { ...under({ blackhole, ban: { fallback: "none" } }), enclosingRefusal: () => refusal };
    engine.reconfigure(policy(after), 1);
    expect(announcer.wanted).toEqual([hostPrefix(victim).text]);
    expect(announcer.routes).toMatchObject([{ notEnclosed: refusal }]);
  });

  test("announces its own alone where all would be more than may be banned", async () => {
    const { engine, announcer } = harness({ ...under({ blackhole }), maxBannedFraction: 0.5 });
    await engine.ban(plainOrder(victim), () => 0);
    expect(announcer.routes).toMatchObject([
      { prefix: hostPrefix(victim), notEnclosed: expect.stringContaining("ban.max_banned_fraction") },
    ]);
  });
});

describe("at max_banned_fraction", () => {
  const blackhole = hops.blackhole && { ...hops.blackhole, enclosing: DIVERTED };
  const room = { maxBannedFraction: 0.25, addresses: () => 1024 };
  const flood = { ...spreadOver("198.51.100.8/30"), rates: thresholds({ pps: 5e9 }) };

  test("a ban with a wider prefix is replaced by that of a worse attack, as what it drops is freed", () => {
    const { engine } = harness({ ...under({ blackhole }), ...room, spread: spreadTerms("blackhole") });
    engine.attacksChanged([started(attackOn(victim))], 0);
    expect(engine.active.get(hostPrefix(victim).text)?.measure).toMatchObject({ enclosing: { prefix: WIDE } });
    engine.attacksChanged([lasts(attackOn(victim)), started(flood)], 1000);
    expect(engine.banOf(flood)).toMatchObject({ state: "active" });
    expect(engine.active.has(hostPrefix(victim).text)).toBe(false);
  });

  test("each address counts once, whatever wider prefixes are nested or banned themselves, in any order", async () => {
    const { engine } = harness(under({ blackhole }));
    const { ban: dropping } = await engine.ban(plainOrder(victim), () => 0);
    const enclosing = (wider: string) =>
      ({ ...dropping.measure, enclosing: { prefix: prefix(wider) } }) as Ban["measure"];
    const pool = [
      { own: "192.0.2.1/32", drops: "192.0.2.0/24" },
      { own: "192.0.2.7/32", drops: "192.0.0.0/22" },
      { own: "192.0.2.0/24", drops: null },
      { own: "192.0.0.9/32", drops: "192.0.0.0/22" },
      { own: "192.0.1.5/32", drops: null },
      { own: "192.0.1.9/32", drops: "192.0.1.0/24" },
    ].map(({ own, drops }) => {
      const measure = drops === null ? NO_MEASURE : enclosing(drops);
      return { drops, ban: { ...dropping, prefix: prefix(own), measure } };
    });
    /** Of the bans whose bits are set. */
    const chosen = (bits: number) => pool.filter((_, i) => (bits >> i) & 1);
    /** The dropped prefixes as one, and the bans beside them. */
    const expected = (bits: number) => {
      const dropped = new Set(chosen(bits).flatMap(({ drops }) => (drops === null ? [] : [drops])));
      const outermost = [...dropped].filter((one) => one.endsWith("/22") || !dropped.has("192.0.0.0/22")).map(prefix);
      const beside = chosen(bits).filter(
        ({ ban }) => !outermost.some((one) => prefixContains(one, ban.prefix.address)),
      );
      return [...outermost, ...beside.map(({ ban }) => ban.prefix)].reduce((sum, one) => sum + addressesIn(one), 0);
    };
    const active = new ActiveBans(() => NO_TENANTS);
    for (let bits = 0; bits < 1 << pool.length; bits++) {
      const inOrder = bits % 2 === 0 ? chosen(bits) : chosen(bits).toReversed();
      for (const { ban } of inOrder) active.put(ban);
      expect([bits, active.addresses(4)]).toEqual([bits, expected(bits)]);
      for (let ending = bits; ending > 0; ending = (ending - 1) & bits) {
        const freed = active.addressesOf(
          chosen(ending).map(({ ban }) => ban),
          4,
        );
        expect([bits, ending, freed]).toEqual([bits, ending, expected(bits) - expected(bits & ~ending)]);
      }
      for (const { ban } of inOrder) active.put({ ...ban, state: "withdrawn" });
      expect(active.addresses(4)).toBe(0);
    }
  });
});
