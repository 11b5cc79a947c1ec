/**
 * Rules that match users too limit in place of `discard`: as much passes as the threshold leaves, and users have their part
 * of it. Pure.
 */
import { attackTraffic } from "../../detection/attack/attack-traffic.ts";
import { BYTES_PER_MEGABIT, METRICS } from "../../traffic/rates.ts";
import type { ObservedAttack } from "../circumstances.ts";
import { SEPARABLE_USERS_MAX } from "../separability.ts";
import { matchText, ruleMatches } from "./match.ts";
import type { Rule } from "./rule.ts";
import type { GeneratedRules } from "./rule-generator.ts";
import type { RuleRisk } from "./rule-separability.ts";

/** Shares of the threshold: the traffic that passes in all, and the least that the rules let pass. */
const PASSED_SHARE = 0.9;
const PASSED_SHARE_MIN = 0.1;
/** Another rate or action must be better by this factor: each change is an update to routers. */
const CHANGED_TIMES = 2;
const BYTES_PER_PACKET = 500;

/** @param before the rules in force. */
export function sparingRules(
  { rules, atRisk, matchedShare }: GeneratedRules,
  observed: ObservedAttack,
  before: readonly Rule[],
): readonly Rule[] {
  const known = new Map(before.map((rule) => [matchText(rule), rule]));
  const passed = passedBytes(observed, matchedShare);
  // Without a rate, no limit is known to be right.
  if (passed === 0) return rules;
  const weights = rules.map((rule) => observed.packets.filter(({ header }) => ruleMatches(rule, header)).length + 1);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const discarding = discardingOf(rules, atRisk, known);
  return rules.map((rule, i) => {
    if (discarding.has(rule)) return rule;
    const present = known.get(matchText(rule)) ?? null;
    const wanted = rounded((passed * (weights[i] ?? 0)) / total);
    const action = { kind: "rate_limit", bytesPerSecond: wanted } as const;
    return { ...rule, action: present !== null && isNear(present, wanted) ? present.action : action };
  });
}

/** Those that risk least discard, as long as all of them together spare users. */
function discardingOf(rules: readonly Rule[], atRisk: readonly RuleRisk[], known: ReadonlyMap<string, Rule>) {
  const discarding = new Set<Rule>();
  let taken = 0;
  const risks = rules.map((rule, i) => ({
    rule,
    risk: atRisk[i] ?? UNKNOWN,
    present: known.get(matchText(rule)) ?? null,
  }));
  for (const { rule, risk, present } of risks.sort((a, b) => a.risk.share - b.risk.share)) {
    // A guess may change with each sample: it does not change a rule that is in force.
    const isKept = risk.isGuess && present?.action.kind === "discard";
    if (!isKept) taken += risk.share;
    if (isKept || taken <= riskTaken(present)) discarding.add(rule);
  }
  return discarding;
}

const UNKNOWN: RuleRisk = { share: 1, isGuess: false };

/** The share of users that a rule may match and discard. */
function riskTaken(present: Rule | null): number {
  if (present === null) return SEPARABLE_USERS_MAX;
  return present.action.kind === "discard" ? CHANGED_TIMES * SEPARABLE_USERS_MAX : SEPARABLE_USERS_MAX / CHANGED_TIMES;
}

/** Bytes a second that the rules may let pass. */
function passedBytes({ attack, packets }: ObservedAttack, matchedShare: number): number {
  const { unit, timesThreshold, perSecond } = attackTraffic(attack);
  const beside = (1 - matchedShare) * timesThreshold;
  const ofThreshold = Math.max(PASSED_SHARE_MIN, PASSED_SHARE - beside);
  if (unit === "bytes") return (ofThreshold / timesThreshold) * perSecond;
  const [pps, mbps] = [attack.rates[METRICS.indexOf("pps")] ?? 0, attack.rates[METRICS.indexOf("mbps")] ?? 0];
  const bytes = packets.reduce((sum, { wireBytes }) => sum + wireBytes, 0);
  const counted = pps === 0 ? BYTES_PER_PACKET : (mbps * BYTES_PER_MEGABIT) / pps;
  const each = packets.length === 0 ? counted : bytes / packets.length;
  // Only the packets of new flows are known.
  return (ofThreshold / timesThreshold) * (unit === "flows" ? pps : perSecond) * each;
}

/** To two digits. */
function rounded(value: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))) - 1);
  return Math.max(1, Math.round(value / unit) * unit);
}

function isNear({ action }: Rule, wanted: number): boolean {
  if (action.kind === "discard") return false;
  return action.bytesPerSecond <= CHANGED_TIMES * wanted && wanted <= CHANGED_TIMES * action.bytesPerSecond;
}
