import { expect, test } from "bun:test";
import { operatorRule } from "../../../test/fixtures/mitigation/operator-rules.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { exactly } from "../../net/range.ts";
import { ANY_PACKET } from "../rules/rule.ts";
import { type OperatorRulesRequest, operatorKernelRules } from "./operator-kernel-rules.ts";
import type { OperatorRule } from "./operator-rule.ts";

const NETWORKS = [prefix("192.0.2.0/24"), prefix("2001:db8::/48")];
const WALL_MS = 1_000_000;

function made(rules: readonly OperatorRule[], request: Partial<OperatorRulesRequest> = {}) {
  return operatorKernelRules({ rules, networks: NETWORKS, attacked: [], wallMs: WALL_MS, room: 1000, ...request });
}

/** By destination, the names of the rules in their order. */
function lists(...args: Parameters<typeof made>): Record<string, string[]> {
  const { destinations } = made(...args);
  return Object.fromEntries(destinations.map(({ prefix: one, rules }) => [one.text, rules.map(({ owner }) => owner)]));
}

const at = (name: string, ...texts: string[]) => operatorRule({ name, destinations: texts.map(prefix) });
const banned = (text: string, expiresAt = WALL_MS + 60_000) => ({ prefix: prefix(text), expiresAt });

test("each destination has all rules for it, in their order", () => {
  const rules = [at("all"), at("host", "192.0.2.7/32"), at("half", "192.0.2.0/25"), at("last")];
  expect(lists(rules)).toEqual({
    "192.0.2.0/24": ["all", "last"],
    "2001:db8::/48": ["all", "last"],
    "192.0.2.7/32": ["all", "host", "half", "last"],
    "192.0.2.0/25": ["all", "half", "last"],
  });
});

test("a rule is one in the kernel, whatever its destinations, and keeps its id until it says something else", () => {
  const { rules } = made([at("two", "192.0.2.7/32", "192.0.2.9/32")]);
  expect(rules).toHaveLength(1);
  const id = (rule: OperatorRule) => made([rule]).rules[0]?.id ?? "";
  const rule = operatorRule();
  expect(id({ ...rule })).toBe(id(rule));
  const others = [
    { ...rule, name: "other" },
    { ...rule, isDryRun: true },
    { ...rule, action: "pass" as const },
    { ...rule, match: { ...ANY_PACKET, protocols: exactly(6) } },
  ];
  expect(new Set([rule, ...others].map(id)).size).toBe(5);
  expect(id({ ...rule, name: "x".repeat(63) }).length).toBeLessThanOrEqual(63);
});

test("rules for attacked addresses are tried for addresses with a ban alone, and end with it", () => {
  const rules = [at("always"), { ...at("then", "192.0.2.0/25"), when: "attacked" as const }];
  expect(lists(rules)["192.0.2.7/32"]).toBeUndefined();
  const attacked = [banned("192.0.2.7/32"), banned("192.0.2.200/32"), banned("2001:db8::1/128")];
  const request = { attacked };
  expect(lists(rules, request)).toEqual({
    "192.0.2.0/24": ["always"],
    "2001:db8::/48": ["always"],
    "192.0.2.7/32": ["always", "then"],
  });
  const later = made(rules, {
    attacked: [banned("192.0.2.7/32", WALL_MS + 5000), banned("192.0.2.8/32", WALL_MS + 9000)],
  });
  expect(later.rules.find(({ owner }) => owner === "then")?.expiresAtMs).toBe(WALL_MS + 9000);
  expect(later.rules.find(({ owner }) => owner === "always")?.expiresAtMs).toBeGreaterThan(WALL_MS + 365 * 86_400_000);
});

test("a ban of a prefix reaches the destinations within it", () => {
  const rules = [at("always", "192.0.2.8/32"), { ...at("then", "192.0.2.16/28"), when: "attacked" as const }];
  const request = { attacked: [banned("192.0.2.0/24")] };
  expect(lists(rules, request)).toEqual({ "192.0.2.8/32": ["always"], "192.0.2.16/28": ["then"] });
  const wide = [at("always", "192.0.2.8/32"), { ...at("then"), when: "attacked" as const }];
  expect(lists(wide, request)).toEqual({ "192.0.2.8/32": ["always", "then"], "192.0.2.0/24": ["then"] });
});

test("without room the rules that are always tried stay, and the attacked beyond it are counted", () => {
  const rules = [at("always"), { ...at("then"), when: "attacked" as const }];
  const attacked = Array.from({ length: 10 }, (_, i) => banned(`192.0.2.${i}/32`));
  const { destinations, leftOut } = made(rules, { attacked, room: 4 + 3 * 4 });
  expect(destinations.map(({ prefix: one }) => one.text)).toEqual([
    "192.0.2.0/24",
    "2001:db8::/48",
    "192.0.2.0/32",
    "192.0.2.1/32",
    "192.0.2.2/32",
  ]);
  expect(leftOut).toBe(7);
});

test("destinations without room for the rules that are always tried are counted, each once", () => {
  const [one, other] = ["192.0.2.1/32", "192.0.2.2/32"];
  const rules = [at("first", one), at("second", one), at("third", other)];
  expect(made(rules, { room: 4 })).toMatchObject({ leftOut: 1, destinations: [{ prefix: { text: one } }] });
  expect(made(rules, { room: 6 }).leftOut).toBe(0);
});

test("limits: one of packets and one of bits, of a source by its family", () => {
  const limit = { packetsPerSecond: 10, bytesPerSecond: 1000, isPerSource: true, ipv4Length: 24, ipv6Length: 48 };
  const { destinations } = made([operatorRule({ action: "limit", limit })]);
  const source = { kind: "limit_source" };
  expect(destinations.map(({ rules }) => rules.map(({ rule }) => rule.action))).toMatchObject([
    [
      { ...source, packetsPerSecond: 10, bytesPerSecond: 0, prefixLength: 120 },
      { ...source, packetsPerSecond: 0, bytesPerSecond: 1000, prefixLength: 120 },
    ],
    [
      { ...source, prefixLength: 48 },
      { ...source, prefixLength: 48 },
    ],
  ]);
  const all = made([operatorRule({ action: "limit", limit: { ...limit, bytesPerSecond: 0, isPerSource: false } })]);
  expect(all.rules.map(({ rule }) => rule.action)).toEqual([
    { kind: "limit", packetsPerSecond: 10, bytesPerSecond: 0 },
  ]);
});

test("a source of one family is of no use to destinations of the other", () => {
  const rule = operatorRule({ match: { ...ANY_PACKET, source: prefix("10.0.0.0/8") } });
  expect(lists([rule])).toEqual({ "192.0.2.0/24": ["rule"], "2001:db8::/48": [] });
});
