import { expect, test } from "bun:test";
import { prefix } from "../../../test/fixtures/networks.ts";
import { exactly } from "../../net/range.ts";
import { METRICS } from "../../traffic/rates.ts";
import { type Rule, wideRule } from "./rule.ts";
import { sparingRules } from "./sparing-rules.ts";

const RULES = [1, 2, 3].map(
  (port): Rule => ({ ...wideRule(prefix("203.0.113.9/32"), { kind: "discard" }), sourcePorts: exactly(port) }),
);
const rates = METRICS.map((metric) => (metric === "pps" ? 1000 : metric === "mbps" ? 4 : 0));
const OBSERVED = {
  attack: { direction: "incoming", metric: "pps", threshold: 250, classification: null, rates, thresholds: rates },
  ...{ packets: [], profile: null },
} as const;

function actionsOf(shares: readonly number[], before: readonly Rule[] = []): readonly string[] {
  const atRisk = shares.map((share) => ({ share, isGuess: false }));
  const known = { verdict: "unknown", usersAtRisk: 1, estimatedBy: "sample" } as const;
  const generated = { rules: RULES, matchesAll: false, separability: known, atRisk, matchedShare: 0.9 };
  return sparingRules(generated, OBSERVED, before).map(({ action }) => action.kind);
}

test("rules that together match a hundredth of the users discard, and no more of them", () => {
  expect(actionsOf([0.003, 0.003, 0.003])).toEqual(["discard", "discard", "discard"]);
  expect(actionsOf([0.006, 0.002, 0.006])).toEqual(["discard", "discard", "rate_limit"]);
  expect(actionsOf([0.3, 0.002, 0])).toEqual(["rate_limit", "discard", "discard"]);
});

test("rules in force that discard may match twice as many", () => {
  expect(actionsOf([0.006, 0.006, 0.006], RULES)).toEqual(["discard", "discard", "discard"]);
  expect(actionsOf([0.009, 0.009, 0.009], RULES)).toEqual(["discard", "discard", "rate_limit"]);
});
