/** Bans that want different routes of one prefix. */
import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { attackOn, harness, lasts, started, terms, under, victim } from "../../test/fixtures/mitigation/ban-engine.ts";
import { communitiesOf, prefix } from "../../test/fixtures/networks.ts";
import { hostPrefix } from "../net/prefix.ts";
import type { Ban } from "./ban.ts";
import type { BanTerms } from "./circumstances.ts";
import { NO_HOOK } from "./diversion.ts";
import { notAnnounced } from "./enclosing.ts";
import { plainOrder } from "./order/ban-order.ts";

const WIDE = "192.0.2.0/24";
const other = address("192.0.2.7");
const enclosing = { 4: { length: 24, upTo: 24 } };
const { blackhole, divert } = terms();
const wider = { blackhole: blackhole && { ...blackhole, enclosing }, divert: divert && { ...divert, enclosing } };
const dropping = terms(wider);
const diverting = terms({ ...wider, method: "divert" });

const DIVERTED_BY_OTHER = notAnnounced(prefix(WIDE), `the ban of ${hostPrefix(other).text} diverts it`);

function of(first: BanTerms, second: BanTerms) {
  return { termsOf: (target: typeof victim) => (target === victim ? first : second) };
}

function wideRoute({ announcer }: ReturnType<typeof harness>) {
  return announcer.routes.find(({ prefix: { text } }) => text === WIDE);
}

describe("a wider prefix that one ban drops and another one diverts", () => {
  test.each([
    ["later", [victim, other]],
    ["earlier", [other, victim]],
  ] as const)("is diverted, also where the ban that diverts began %s #announce-mixed", async (_, order) => {
    const bench = harness(of(dropping, diverting));
    for (const [i, target] of order.entries()) {
      bench.engine.attacksChanged(
        [...order.slice(0, i).map((ip) => lasts(attackOn(ip))), started(attackOn(target))],
        i,
      );
    }
    expect(wideRoute(bench)).toMatchObject({ isDivert: true });
    expect(wideRoute(bench)).not.toHaveProperty("encloses");
    expect(bench.announcer.wanted).toEqual([hostPrefix(victim).text, WIDE].sort());
    // The ban whose blackhole is left out says so.
    bench.engine.tick(5);
    const left = () => bench.engine.active.get(hostPrefix(victim).text)?.measure;
    expect(left()).toMatchObject({ route: { notEnclosed: DIVERTED_BY_OTHER } });
    expect(left()).not.toHaveProperty("enclosing");
    // Once it ends, the blackhole is for the neighbors that take no /32, as before.
    await bench.engine.unban(other, 10);
    bench.engine.tick(15);
    expect(wideRoute(bench)).toMatchObject({ encloses: 32 });
    expect(wideRoute(bench)).not.toHaveProperty("isDivert");
    // Before it is ordered again, its preview has whose blackhole it would replace.
    const replacedBy = (target: typeof victim) =>
      bench.engine.operators.replacedBy(bench.engine.preview(plainOrder(target), 20)).map(({ target: of }) => of);
    expect([replacedBy(other), replacedBy(victim)]).toEqual([[victim], []]);
  });

  test("is for the neighbors that take no narrower one, also beside an order for it at some neighbors", async () => {
    const bench = harness(under(wider));
    await bench.engine.ban({ ...plainOrder(victim), terms: { neighbors: ["edge1"] } }, () => 0);
    await bench.engine.ban(plainOrder(other), () => 1);
    expect(wideRoute(bench)).toMatchObject({ encloses: 32 });
    expect(wideRoute(bench)).not.toHaveProperty("neighbors");
  });
});

test("a wider prefix that a hook diverts is not dropped for another ban, not even until its own route is announced", () => {
  const hooked = terms({ ...wider, divert: wider.divert && { ...wider.divert, nextHop: null }, method: "divert" });
  const diversions = { ...NO_HOOK, stateOf: () => ({ kind: "announced" as const }) };
  const bench = harness({ ...of(dropping, hooked), isHooked: true }, { diversions });
  bench.announcer.states.set(hostPrefix(victim).text, { kind: "failed", cause: "no neighbor takes it" });
  bench.engine.attacksChanged([started(attackOn(victim))], 0);
  expect(wideRoute(bench)).toMatchObject({ encloses: 32 });
  bench.engine.attacksChanged([lasts(attackOn(victim)), started(attackOn(other))], 1);
  bench.engine.tick(2);
  expect(wideRoute(bench)).toBeUndefined();
  const ban = bench.engine.active.get(hostPrefix(victim).text) as Ban;
  expect(ban.retiring).toEqual([]);
  expect(bench.engine.routeState(ban)).toMatchObject({ kind: "failed" });
});

test("a ban that climbs from a divert to a blackhole drops the wider prefix in the same step", () => {
  const ladder = [
    { afterSeconds: 0, action: "divert" as const },
    { afterSeconds: 60, action: "blackhole" as const },
  ];
  const bench = harness(under({ ...wider, ladder }));
  bench.engine.attacksChanged([started(attackOn(victim))], 0);
  expect(wideRoute(bench)).toMatchObject({ isDivert: true });
  bench.engine.tick(60_000);
  expect(wideRoute(bench)).toMatchObject({ encloses: 32 });
  expect(bench.engine.active.get(hostPrefix(victim).text)?.measure).toMatchObject({ enclosing: { encloses: 32 } });
});

test("a ban that would divert a prefix goes on where the ban of the prefix itself drops it", async () => {
  const bench = harness(of(dropping, diverting));
  const order = { ...plainOrder(victim), prefix: prefix(WIDE), terms: { method: "blackhole" as const } };
  await bench.engine.ban(order, () => 0);
  bench.engine.attacksChanged([started(attackOn(other))], 1);
  const why = notAnnounced(prefix(WIDE), "the ban of the prefix itself drops it");
  expect(bench.engine.active.get(hostPrefix(other).text)).toMatchObject({ method: "blackhole", fallback: why });
  expect(wideRoute(bench)).not.toHaveProperty("isDivert");
});

test("an order with communities and neighbors of its own does not set the terms of other bans that share its route", async () => {
  const bench = harness(under({ ...wider, method: "divert" }));
  const ordered = { method: "divert", neighbors: ["n1"], communities: communitiesOf("65000:99") } as const;
  await bench.engine.ban({ ...plainOrder(victim), terms: ordered }, () => 0);
  expect(wideRoute(bench)).toMatchObject({ neighbors: ["n1"], areCommunitiesOrdered: true });
  bench.engine.attacksChanged([started(attackOn(other))], 1);
  expect(wideRoute(bench)).toMatchObject({ communities: divert?.communities });
  expect(wideRoute(bench)).not.toHaveProperty("neighbors");
  expect(wideRoute(bench)).not.toHaveProperty("areCommunitiesOrdered");
});
