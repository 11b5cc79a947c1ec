/** Bans that a hook diverts. */
import { describe, expect, test } from "bun:test";
import { attackOn, harness, policy, started, terms, under, victim } from "../../test/fixtures/mitigation/ban-engine.ts";
import type { Holder } from "../access/shares.ts";
import { hostPrefix, type Prefix } from "../net/prefix.ts";
import type { RouteState } from "./announcer.ts";
import type { Ban } from "./ban.ts";
import { type Diverter, type WantedDiversion, wantedDiversions } from "./diversion.ts";
import { plainOrder } from "./order/ban-order.ts";
import { retiringTexts } from "./retiring.ts";

const HOST = hostPrefix(victim).text;
const WIDE = "192.0.2.0/24";
const { divert } = terms();
const hooked = {
  method: "divert" as const,
  divert: divert && { ...divert, nextHop: null, enclosing: { 4: { length: 24, upTo: 24 } } },
};

function byHook(overrides: Parameters<typeof under>[0]) {
  return { ...under(overrides), isHooked: true };
}

const acme: Holder = { operator: "mallory", tenant: "acme" };

class FakeDiverter implements Diverter {
  wanted: readonly string[] = [];
  fault: string | null = null;
  state: RouteState = { kind: "pending" };
  want(diversions: readonly WantedDiversion[]): void {
    this.wanted = diversions.map(({ prefix }) => prefix.text);
  }
  isLostNow = false;
  /** Of tenants alone. */
  overrun: string | null = null;
  faultOf(_: Prefix, { tenant }: Holder): string | null {
    return tenant === null ? this.fault : (this.fault ?? this.overrun);
  }
  isLost(): boolean {
    return this.isLostNow;
  }
  stateOf(): RouteState {
    return this.fault === null ? this.state : { kind: "failed", cause: this.fault };
  }
}

const ladder = [
  { afterSeconds: 0, action: "divert" as const },
  { afterSeconds: 600, action: "blackhole" as const },
];

describe("a ban that a hook diverts", () => {
  test("wants its wider prefix diverted, without a next hop, and is announced once that is confirmed #hook-diverts", () => {
    const diversions = new FakeDiverter();
    const { engine, announcer } = harness(byHook(hooked), { diversions });
    engine.attacksChanged([started(attackOn(victim))], 0);
    const ban = () => engine.active.get(HOST) as Ban;
    expect(diversions.wanted).toEqual([WIDE]);
    expect(announcer.wanted).toEqual([]);
    expect(engine.routeState(ban())).toEqual({ kind: "pending" });
    diversions.state = { kind: "announced" };
    engine.tick(1000);
    expect(engine.routeState(ban())).toEqual({ kind: "announced" });
    engine.attacksChanged([{ kind: "ended", attack: { ...attackOn(victim), endedAt: 2000 } }], 2000);
    expect(diversions.wanted).toEqual([]);
  });

  test("wants nothing in dry run", () => {
    const diversions = new FakeDiverter();
    const { engine } = harness({ ...byHook(hooked), dryRun: true, isDryRun: () => true }, { diversions });
    engine.attacksChanged([started(attackOn(victim))], 0);
    expect(engine.active.get(HOST)).toMatchObject({ dryRun: true, measure: { kind: "divert" } });
    expect(diversions.wanted).toEqual([]);
  });

  test("goes on to the next rung when the hook fails, on the last one to the fallback #hook-failed", () => {
    for (const own of [{ ladder }, {}]) {
      const diversions = new FakeDiverter();
      const { engine, announcer } = harness(byHook({ ...hooked, ...own }), { diversions });
      engine.attacksChanged([started(attackOn(victim))], 0);
      diversions.fault = "the scrubbing hook does not divert it";
      engine.tick(1000);
      expect(announcer.wanted).toEqual([HOST]);
      expect(diversions.wanted).toEqual([]);
      const fallback = own.ladder === undefined ? diversions.fault : null;
      expect(engine.active.get(HOST)).toMatchObject({ method: "blackhole", fallback });
      diversions.fault = null;
      engine.tick(2000);
      expect(diversions.wanted).toEqual([WIDE]);
    }
  });

  test("acts otherwise beyond the share of its tenant, until an attack keeps it in force too #diversions-share", async () => {
    const diversions = new FakeDiverter();
    const { engine } = harness(byHook(hooked), { diversions });
    diversions.overrun = "your share is taken";
    const divertOnly = { ...plainOrder(victim), terms: { method: "divert" } } as const;
    const reason = `order: ${diversions.overrun}`;
    expect((await engine.ban(divertOnly, () => 0, acme)).ban).toMatchObject({ state: "rejected", reason });
    const { ban } = await engine.ban(plainOrder(victim), () => 0, acme);
    expect(ban).toMatchObject({ method: "blackhole", fallback: diversions.overrun });
    engine.attacksChanged([started(attackOn(victim))], 1000);
    engine.tick(2000);
    expect(engine.active.get(HOST)).toMatchObject({ method: "divert", fallback: null });
    expect(diversions.wanted).toEqual([WIDE]);
  });

  test("acts otherwise once its diversion is lost, and is diverted still where nothing takes its place #hook-lost", () => {
    for (const fallback of ["blackhole", "none"] as const) {
      const diversions = new FakeDiverter();
      const { engine, announcer } = harness(byHook({ ...hooked, ban: { ...terms().ban, fallback } }), { diversions });
      engine.attacksChanged([started(attackOn(victim))], 0);
      diversions.state = { kind: "announced" };
      engine.tick(1000);
      Object.assign(diversions, { fault: "it is lost", isLostNow: true });
      engine.tick(2000);
      const isReplaced = fallback === "blackhole";
      expect(announcer.wanted).toEqual(isReplaced ? [HOST] : []);
      expect(diversions.wanted).toEqual(isReplaced ? [] : [WIDE]);
      expect(engine.active.get(HOST)?.fallback).toBe(isReplaced ? "it is lost" : null);
      Object.assign(diversions, { fault: null, isLostNow: false, state: { kind: "pending" } });
      engine.tick(62_000);
      engine.tick(63_000);
      expect(diversions.wanted).toEqual([WIDE]);
      // The fallback stays until the diversion is confirmed.
      expect(announcer.wanted).toEqual(isReplaced ? [HOST] : []);
    }
  });

  test("keeps what a milder rung announced until the hook has confirmed it", () => {
    const diversions = new FakeDiverter();
    const rungs = [
      { afterSeconds: 0, action: "flowspec" as const },
      { afterSeconds: 10, action: "divert" as const },
    ];
    const { engine, announcer } = harness(byHook({ ...hooked, ladder: rungs }), { diversions });
    engine.attacksChanged([started(attackOn(victim))], 0);
    const [rule] = announcer.wanted;
    engine.tick(10_000);
    expect(diversions.wanted).toEqual([WIDE]);
    expect(announcer.wanted).toEqual([rule ?? ""]);
    engine.tick(60_000);
    expect(announcer.wanted).toEqual([rule ?? ""]);
    diversions.state = { kind: "announced" };
    engine.tick(61_000);
    expect(announcer.wanted).toEqual([]);
  });

  test("stays diverted until what takes its place is announced, unless that may not be any more #hook-retires", () => {
    for (const isRefused of [false, true]) {
      const diversions = new FakeDiverter();
      const { engine, announcer } = harness(byHook(hooked), { diversions });
      engine.attacksChanged([started(attackOn(victim))], 0);
      diversions.state = { kind: "announced" };
      engine.tick(1000);
      announcer.states.set(HOST, { kind: "pending" });
      const refusal = `${WIDE} is not announced: it lies in none of networks as a whole` as const;
      const next = {
        ...byHook({ ...hooked, method: "blackhole" }),
        enclosingRefusal: () => (isRefused ? refusal : null),
      };
      engine.reconfigure(policy(next), 2000);
      expect(announcer.wanted).toEqual([HOST]);
      expect(diversions.wanted).toEqual(isRefused ? [] : [WIDE]);
      const texts = isRefused ? null : [`${WIDE} by the scrubbing hook`];
      expect(retiringTexts(engine.active.get(HOST) as Ban)).toEqual(texts);
      announcer.states.set(HOST, { kind: "announced" });
      engine.tick(3000);
      expect(diversions.wanted).toEqual([]);
    }
  });

  test("is diverted by the former prefix until the hook has confirmed the new one", () => {
    const diversions = new FakeDiverter();
    const { engine } = harness(byHook(hooked), { diversions });
    engine.attacksChanged([started(attackOn(victim))], 0);
    diversions.state = { kind: "announced" };
    engine.tick(1000);
    diversions.state = { kind: "pending" };
    const enclosing = { 4: { length: 23, upTo: 23 } };
    const wider = { ...hooked, divert: hooked.divert && { ...hooked.divert, enclosing } };
    diversions.stateOf = (of?: Prefix): RouteState => ({ kind: of?.text === WIDE ? "announced" : "pending" });
    engine.reconfigure(policy(byHook(wider)), 2000);
    engine.tick(60_000);
    expect(diversions.wanted).toEqual(["192.0.2.0/23", WIDE]);
    diversions.stateOf = () => ({ kind: "announced" });
    engine.tick(61_000);
    expect(diversions.wanted).toEqual(["192.0.2.0/23"]);
  });

  test("shares its prefix with others, and a reload without the hook takes it back", async () => {
    const diversions = new FakeDiverter();
    const { engine } = harness(byHook(hooked), { diversions });
    await engine.ban(plainOrder(victim), () => 0);
    await engine.ban(plainOrder("192.0.2.7" as typeof victim), () => 0);
    expect(wantedDiversions(engine.active.values())).toMatchObject([
      { prefix: { text: WIDE }, bans: [HOST, "192.0.2.7/32"] },
    ]);
    engine.reconfigure(policy(under({ method: "divert" })), 1);
    expect(diversions.wanted).toEqual([]);
  });
});
