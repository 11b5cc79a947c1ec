import { describe, expect, test } from "bun:test";
import { prefix } from "../../../test/fixtures/networks.ts";
import { buildScrub } from "../../config/sections/scrub.ts";
import { readRule } from "../../mitigation/rules/rule-reader.ts";
import type { ScrubFilter } from "../../mitigation/scrub/scrub-filter.ts";
import type { DocumentBounds } from "./agent-config.ts";
import { BoundsCheck } from "./document-bounds.ts";

const BOUNDS: DocumentBounds = {
  networks: ["203.0.113.0/24", "203.0.113.128/25", "10.0.0.0/8", "2001:db8::/32"].map(prefix),
  shortestPrefix: { 4: 24, 6: 48 },
  maxSeconds: 60,
  maxRules: 1,
};
const NOW = 5000;

interface Options {
  readonly bounds?: Partial<DocumentBounds>;
  readonly seconds?: number;
  readonly rules?: readonly object[];
  readonly filter?: ScrubFilter | null;
}

/** Of a ban; "accepted" if it is within. */
function problemOf(target: string, { filter = null, ...options }: Options = {}) {
  const { bounds = {}, seconds = 60, rules = [{ action: "discard" }] } = options;
  const ban = {
    ...{ prefix: prefix(target), isVirtual: false, expiresAtMs: NOW + seconds * 1000, filter },
    rules: rules.map((rule) => readRule(rule, prefix(target))),
  };
  return new BoundsCheck({ ...BOUNDS, ...bounds }).excessOf(ban, NOW) ?? "accepted";
}

test("a filter is within the bounds of its ban's prefix, with rules or without", () => {
  const filter = buildScrub({}, []);
  expect(problemOf("203.0.113.7/32", { rules: [], filter })).toBe("accepted");
  expect(problemOf("198.51.100.7/32", { rules: [] })).toBe("accepted");
  expect(problemOf("198.51.100.7/32", { rules: [], filter })).toBe("is not inside of bounds.networks");
});

describe("destinations", () => {
  test.each([
    ["203.0.113.7/32", "accepted"],
    ["203.0.113.0/24", "accepted"],
    ["203.0.113.192/26", "accepted"],
    ["10.7.0.0/24", "accepted"],
    ["2001:db8:1::/48", "accepted"],
    ["198.51.100.7/32", "is not inside of bounds.networks"],
    ["2001:db9::1/128", "is not inside of bounds.networks"],
    ["10.0.0.0/23", "is shorter than bounds.shortest_prefix"],
    ["2001:db8::/47", "is shorter than bounds.shortest_prefix6"],
    ["0.0.0.0/0", "is shorter than bounds.shortest_prefix"],
  ])("%s: %s", (target, expected) => {
    expect(problemOf(target)).toBe(expected);
  });

  test("a prefix that is wider than the network in it", () => {
    const bounds = { shortestPrefix: { 4: 0, 6: 0 } };
    expect(problemOf("203.0.112.0/23", { bounds })).toBe("is not inside of bounds.networks");
    expect(problemOf("0.0.0.0/0", { bounds })).toBe("is not inside of bounds.networks");
    expect(problemOf("::/0", { bounds })).toBe("is not inside of bounds.networks");
  });

  test("the rules decide, not the ban that they are of", () => {
    expect(problemOf("203.0.112.0/23", { rules: [{ dst: "203.0.113.7/32", action: "discard" }] })).toBe("accepted");
    expect(problemOf("203.0.112.0/23", { rules: [{ dst: "203.0.112.7/32", action: "discard" }] })).toBe(
      "203.0.112.7/32: is not inside of bounds.networks",
    );
    expect(problemOf("0.0.0.0/0", { rules: [] })).toBe("accepted");
  });

  test("without networks each destination is accepted", () => {
    expect(problemOf("198.51.100.7/32", { bounds: { networks: null } })).toBe("accepted");
  });
});

test.each([
  [75, "accepted"],
  [75.001, "lasts longer than bounds.max_seconds"],
])("a rule for %d s", (seconds, expected) => {
  expect(problemOf("203.0.113.7/32", { seconds })).toBe(expected);
});
