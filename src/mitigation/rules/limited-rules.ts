/** Rules that match users too, with a limit in place of `discard`: as much passes as the threshold leaves. Pure. */
import { attackTraffic } from "../../detection/attack/attack-traffic.ts";
import { METRICS } from "../../traffic/rates.ts";
import type { ObservedAttack } from "../circumstances.ts";
import { matchText, type Rule, ruleMatches } from "./rule.ts";
import type { GeneratedRules } from "./rule-generator.ts";

/** Of the threshold, what passes in all, and what the rules let pass at least. */
const PASSED_SHARE = 0.9;
const PASSED_SHARE_MIN = 0.1;
/** A rate is changed only if it should be so many times as much, or as little: each change is an update to routers. */
const CHANGED_TIMES = 2;
const BYTES_PER_PACKET = 500;
const BYTES_PER_MEGABIT = 125_000;

/** @param before the rules in force: their rates stay while they are about right. */
export function limitedRules(
  { rules, matchedShare }: Pick<GeneratedRules, "rules" | "matchedShare">,
  observed: ObservedAttack,
  before: readonly Rule[],
): readonly Rule[] {
  const passed = passedBytes(observed, matchedShare);
  const weights = rules.map((rule) => observed.packets.filter(({ header }) => ruleMatches(rule, header)).length + 1);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return rules.map((rule, i) => {
    const wanted = rounded((passed * (weights[i] ?? 0)) / total);
    const known = before.find((other) => matchText(other) === matchText(rule));
    const action = { kind: "rate_limit", bytesPerSecond: wanted } as const;
    return { ...rule, action: known !== undefined && isNear(known, wanted) ? known.action : action };
  });
}

/** Bytes a second that the rules may let pass. */
function passedBytes({ attack, packets }: ObservedAttack, matchedShare: number): number {
  const { unit, timesThreshold } = attackTraffic(attack);
  const beside = (1 - matchedShare) * timesThreshold;
  const ofThreshold = Math.max(PASSED_SHARE_MIN, PASSED_SHARE - beside);
  const mbps = attack.rates[METRICS.indexOf("mbps")] ?? 0;
  const pps = attack.rates[METRICS.indexOf("pps")] ?? 0;
  if (unit === "bytes" || pps === 0)
    return Math.max(1, (ofThreshold / timesThreshold) * mbps * BYTES_PER_MEGABIT || ofThreshold * attack.threshold);
  const bytes = packets.reduce((sum, { wireBytes }) => sum + wireBytes, 0);
  const each = packets.length === 0 ? BYTES_PER_PACKET : bytes / packets.length;
  return Math.max(1, (ofThreshold / timesThreshold) * pps * each);
}

/** To two digits. */
function rounded(value: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return Math.max(1, Math.round(value / unit) * unit);
}

function isNear({ action }: Rule, wanted: number): boolean {
  if (action.kind === "discard") return false;
  return action.bytesPerSecond <= CHANGED_TIMES * wanted && wanted <= CHANGED_TIMES * action.bytesPerSecond;
}
