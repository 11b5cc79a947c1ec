/** Estimates from sampled packets how much of an attack the rules match. Pure. */
import type { SampledPacket } from "../../detection/attack/sample.ts";
import { type Rule, ruleMatches } from "./rule.ts";

/** The share that rules may miss before other rules are considered: chance, and legitimate traffic. */
const SPARE_SHARE = 0.02;
/** New rules must match this factor more to be worth a change of routes. */
const WORTH_FACTOR = 1.1;

/** Between 0 and 1, packets weighted by `standsFor`; 1 without packets. */
export function matchedShare(rules: readonly Rule[], packets: readonly SampledPacket[]): number {
  let all = 0;
  let caught = 0;
  for (const { header, standsFor } of packets) {
    all += standsFor;
    if (rules.some((rule) => ruleMatches(rule, header))) caught += standsFor;
  }
  return all === 0 ? 1 : caught / all;
}

/** Rules that match nearly all packets need no replacement. */
export function isEnough(rules: readonly Rule[], packets: readonly SampledPacket[]): boolean {
  return matchedShare(rules, packets) >= 1 - SPARE_SHARE;
}

/**
 * If other traffic goes to the victim too, narrow rules never match all packets: compare how much more the new rules
 * match.
 */
export function isWorthChanging(
  present: readonly Rule[],
  others: readonly Rule[],
  packets: readonly SampledPacket[],
): boolean {
  return matchedShare(others, packets) > WORTH_FACTOR * matchedShare(present, packets);
}
