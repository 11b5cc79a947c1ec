/** How much of an attack rules catch, as far as its packets tell. Pure. */
import type { SampledPacket } from "../../detection/attack/sample.ts";
import { type Rule, ruleMatches } from "./rule.ts";

/** What rules may miss without a look at others: chance, and traffic that is not the attack's. */
const SPARE_SHARE = 0.02;
/** Others are worth a change of routes from so much more on. */
const WORTH_FACTOR = 1.1;

/** Between 0 and 1, of packets weighed by how many they stand for; 1 for none. */
export function caughtShare(rules: readonly Rule[], packets: readonly SampledPacket[]): number {
  let all = 0;
  let caught = 0;
  for (const { header, standsFor } of packets) {
    all += standsFor;
    if (rules.some((rule) => ruleMatches(rule, header))) caught += standsFor;
  }
  return all === 0 ? 1 : caught / all;
}

/** Rules that catch nearly all need no other ones. */
export function isEnough(rules: readonly Rule[], packets: readonly SampledPacket[]): boolean {
  return caughtShare(rules, packets) >= 1 - SPARE_SHARE;
}

/** Where other traffic goes to the victim too, no narrow rules catch all: what counts is how much more others would. */
export function isWorthChanging(
  present: readonly Rule[],
  others: readonly Rule[],
  packets: readonly SampledPacket[],
): boolean {
  return caughtShare(others, packets) > WORTH_FACTOR * caughtShare(present, packets);
}
