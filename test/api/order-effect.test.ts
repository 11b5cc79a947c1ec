/** What a preview says of the last minute's traffic, from its sampled headers to the wire (docs/interface.md#order-preview). */

import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { MinuteHeader } from "../../src/detection/attack/minute-sample.ts";
import {
  FilterRulePreviewWire,
  filterRulePreviewToWire,
  type OrderEffectWire,
  sourceBlockPreviewToWire,
} from "../../src/http/wire/order-effect.ts";
import type { Ban } from "../../src/mitigation/ban.ts";
import type { OperatorRule } from "../../src/mitigation/operator/operator-rule.ts";
import { EFFECT_HEADERS_MIN, filterRuleEffect, sourceBlockPreview } from "../../src/service/order-effects.ts";
import { configOf } from "../fixtures/config/parsed-config.ts";
import { address } from "../fixtures/host-rows.ts";
import { operatorRule } from "../fixtures/mitigation/operator-rules.ts";
import { ban } from "../fixtures/views.ts";

const CONFIG = `dry_run: false
networks: [192.0.2.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
protected_whitelist: [192.0.2.53]
hostgroups: [{ name: web, networks: [192.0.2.128/25] }]
dataplane: { interfaces: [eth0], allowlist: [198.51.100.8] }
`;
const VICTIM = address("192.0.2.200");
const OTHER = address("192.0.2.9");
const SOURCE = address("198.51.100.1");

interface Sampled extends Partial<Pick<MinuteHeader, "isAttacked" | "verdict" | "packets">> {
  readonly source?: string;
}

function many(count: number, destination: string, { source = SOURCE, ...rest }: Sampled = {}): MinuteHeader[] {
  const header = {
    ...{ source: address(source), destination: address(destination), protocol: 17, ports: null },
    ...{ tcpFlags: null, fragment: null, packetBytes: 111 },
  };
  const one = { header, wireBytes: 125, packets: 60, isAttacked: false, verdict: null, ...rest };
  return Array.from({ length: count }, () => one);
}

interface Scene {
  readonly headers?: readonly MinuteHeader[];
  readonly config?: string;
  readonly bans?: readonly Ban[];
  readonly isCaptured?: boolean;
}

/** 90 packets/s of an attack, dropped already, and 10 packets/s that are in none. */
const MIXED = [...many(90, VICTIM, { isAttacked: true, verdict: "drop_rule" }), ...many(10, OTHER)];

function running({ headers = MIXED, config = CONFIG, bans = [], isCaptured = true }: Scene) {
  const active = new Map(bans.map((each) => [each.id, each]));
  const packetPath = isCaptured ? { minute: () => ({ headers, seconds: 60 }) } : null;
  return { config: configOf(config), bans: { active }, packetPath };
}

function effect(fields: Partial<OperatorRule> = {}, scene: Scene = {}): OrderEffectWire {
  const rule = operatorRule(fields);
  const known = filterRuleEffect(rule, running(scene));
  const view = { rule, order: null, hiddenBy: null };
  const wire = filterRulePreviewToWire({ view, refusal: null, hides: [], effect: known });
  expect([...Value.Errors(FilterRulePreviewWire, wire)]).toEqual([]);
  return wire.effect;
}

describe("order effect", () => {
  test("does not look at the bans, of which there may be ten thousand, for a rule that is always in force", () => {
    const scene = running({ bans: [ban({ target: VICTIM })] });
    let looks = 0;
    const values = scene.bans.active.values.bind(scene.bans.active);
    scene.bans.active.values = () => {
      looks++;
      return values();
    };
    for (const when of ["always", "attacked"] as const) filterRuleEffect(operatorRule({ when }), scene);
    expect(looks).toBe(1);
  });

  test("leaves out what passes before it, and what source blocks drop #order-effect-is-what-the-rule-is", () => {
    const headers = [
      ...many(40, VICTIM),
      ...many(5, "192.0.2.53"),
      ...many(5, OTHER, { source: "198.51.100.8" }),
      ...many(5, OTHER, { verdict: "drop_source" }),
    ];
    expect(effect({}, { headers })).toMatchObject({ headers: 55, total: { pps: 55 }, dropped: { pps: 40 }, hosts: 1 });
  });

  const enough = many(EFFECT_HEADERS_MIN, VICTIM);
  test.each<[string, Scene, RegExp]>([
    ["without a data plane", { config: CONFIG.replace(/dataplane.*\n/, "") }, /no data plane/],
    ["without a capture", { isCaptured: false }, /nothing is captured/],
    ["without samples", { config: `${CONFIG}samples: { enabled: false }\n` }, /samples.enabled is false/],
    ["of too few headers", { headers: enough.slice(1) }, /last minute: 39, and 40 are needed/],
  ])("unavailable %s says why #order-effect-unavailable", (_, scene, reason) => {
    expect(effect({}, scene)).toEqual({ available: false, reason: expect.stringMatching(reason) });
    expect(effect({}, { headers: enough }).available).toBe(true);
  });

  test("of a tenant is of the traffic of its hosts alone #order-effect-of-a-tenant", () => {
    const order = { source: SOURCE, victim: VICTIM, ttlSeconds: 60, reason: "" };
    const blocks = { sourceBlocks: { refusalOf: () => null, isDryRun: false }, now: () => ({ wallMs: 0 }) };
    const headers = [...many(60, VICTIM), ...many(20, VICTIM, { source: "198.51.100.2" }), ...many(20, OTHER)];
    const asked = (isOwn: (host: string) => boolean) =>
      sourceBlockPreviewToWire(order, sourceBlockPreview(order, { ...running({ headers }), ...blocks }, isOwn)).effect;
    expect(asked(() => true)).toMatchObject({ headers: 100, total: { pps: 100 }, packets_share: 0.6, hosts: 1 });
    expect(asked((host) => host === VICTIM)).toMatchObject({ headers: 80, total: { pps: 80 }, packets_share: 0.75 });
    expect(asked((host) => host === OTHER)).toMatchObject({ available: false });
  });
});
