import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { attack, ban, NOON, udpRules } from "../../../test/fixtures/views.ts";
import type { Attack } from "../../detection/attack/attack.ts";
import type { Ban } from "../../mitigation/ban.ts";
import { type Measure, NO_MEASURE } from "../../mitigation/measure.ts";
import { NOTHING_KNOWN, type Separability } from "../../mitigation/separability.ts";
import { AttackWire, attackToWire } from "./attack.ts";
import { banToWire } from "./ban.ts";

describe("an attack on the wire", () => {
  test("that goes on has its live rate and no end", () => {
    const wire = attackToWire({ attack: attack(), ban: null });
    expect(wire).toEqual({
      id: "a1",
      scope: "host",
      target: "192.0.2.1",
      group: "global",
      direction: "incoming",
      metric: "pps",
      rate: 1500.123,
      threshold: 1000,
      rates: { pps: 1500.123, mbps: 20, flows_per_sec: 0, udp_pps: 1200 },
      active: true,
      dry_run: false,
      started_at: "2026-03-01T12:00:00.000Z",
      reason: {
        threshold_source: "static",
        shares: { udp: 0.7999, syn: 0, tcp: 0, icmp: 0, frag: 0 },
        dominant_share_gate: 0.5,
      },
    });
    expect(Value.Check(AttackWire, wire)).toBe(true);
  });

  test("on sampled traffic says how exact its rates are", () => {
    const wire = attackToWire({ attack: attack({ samplingError: { pps: 0.1, mbps: 0.15 } }), ban: null });
    expect(wire).toMatchObject({ sampling_error: { pps: 0.1, mbps: 0.15 } });
    expect(Value.Check(AttackWire, wire)).toBe(true);
  });

  test("that an earlier build kept, without a kind, has none", () => {
    const { classification: _, ...kept } = attack();
    expect(attackToWire({ attack: kept as Attack, ban: null })).not.toHaveProperty("classification");
  });

  test("that is calm says for how long, and after how long a calm it ends", () => {
    const wire = attackToWire({ attack: attack(), ban: null, calm: { seconds: 4.2, ofSeconds: 10 } });
    expect(wire).toMatchObject({ calm_seconds: 4.2, calm_of_seconds: 10 });
    expect(Value.Check(AttackWire, wire)).toBe(true);
  });

  test("that is over names its end", () => {
    const wire = attackToWire({ attack: attack({ endedAt: NOON + 61_500 }), ban: null });
    expect(wire).toMatchObject({ active: false, ended_at: "2026-03-01T12:01:01.500Z", rate: 1500.123 });
    expect(Value.Check(AttackWire, wire)).toBe(true);
  });

  test("shows its ban's state, method, route and whether it is virtual", () => {
    const wire = attackToWire({ attack: attack(), ban: ban({ dryRun: true }) });
    expect(wire).toMatchObject({
      ban_state: "active",
      method: "blackhole",
      route: "192.0.2.1/32 next-hop 192.0.2.254 community 65535:666",
      dry_run: true,
    });
    expect(Value.Check(AttackWire, wire)).toBe(true);
  });

  test("says whether its rules are known to spare users, announced or for scrub nodes", () => {
    const rules = { kind: "flowspec", rules: [], matchesAll: false, localPref: 0, basis: "" } as const;
    const separated = (separability: Separability) => ({ ...rules, separability });
    const of = (measure: Measure) => attackToWire({ attack: attack(), ban: { ...ban(), measure } });
    const inseparable = separated({ verdict: "no", usersAtRisk: 0.23456, estimatedBy: "profile" });
    const wire = { separable: false, separability: { verdict: "no", users_at_risk: 0.2346, estimated_by: "profile" } };
    expect(of(inseparable)).toMatchObject(wire);
    expect(of({ kind: "divert", route: null, node: null, rules: inseparable })).toMatchObject(wire);
    expect(of(separated({ verdict: "yes", usersAtRisk: 0, estimatedBy: "protocol" }))).toHaveProperty(
      "separable",
      true,
    );
    expect(of(separated(NOTHING_KNOWN))).toMatchObject({ separable: false, separability: { verdict: "unknown" } });
    expect(of(rules)).not.toHaveProperty("separable");
    expect(Value.Check(AttackWire, of(inseparable))).toBe(true);
  });

  test("shows a refused ban", () => {
    const rejected = ban({ state: "rejected", reason: "whitelisted" });
    const wire = attackToWire({ attack: attack(), ban: rejected });
    expect(wire).toMatchObject({ ban_state: "rejected", method: "blackhole" });
  });

  test.each<[string, Ban]>([
    ["that is announced", ban()],
    ["without a speaker", ban({ route: null })],
    ["that was refused without a speaker", ban({ state: "rejected", reason: "whitelisted", route: null })],
    ["by rules", ban({ method: "flowspec", measure: udpRules() })],
    ["by rules that are not known yet", ban({ method: "flowspec", measure: { ...udpRules(), rules: [] } })],
    ["that only watches yet", ban({ measure: NO_MEASURE })],
  ])("has the route of its ban, of one %s", (_, held) => {
    const { route } = attackToWire({ attack: attack(), ban: held });
    expect(route).toBe(banToWire({ ban: held, routeState: { kind: "pending" } }).route);
  });
});
