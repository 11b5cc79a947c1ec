/** The limits within which rules find room in the kernel, and what one can do about each. Pure. */
import { DETAILED_RULES_MAX, FILTER_RULES_PER_DESTINATION_MAX } from "../../native/constants.ts";
import type { OwnedRule } from "./kernel-rule.ts";

export const ROOM_LIMITS = ["max_dynamic_rules", "one_destination", "detailed_matches"] as const;
export type RoomLimit = (typeof ROOM_LIMITS)[number];

/** For log lines, and for reports, which take 120 characters with `no room: `. */
export const REMEDIES: Readonly<Record<RoomLimit, string>> = {
  max_dynamic_rules: "raise dataplane.limits.max_dynamic_rules and restart",
  one_destination: `at most ${FILTER_RULES_PER_DESTINATION_MAX} for one destination or any: fewer services of a ban, or bans with answers: asked or of attackers`,
  detailed_matches: `at most ${DETAILED_RULES_MAX} with detailed matches: these in fewer filter rules, blocked_sets for fewer prefixes`,
};

export interface LeftOutRule<Of = OwnedRule> {
  readonly rule: Of;
  /**
   * `one_destination` also where `max_dynamic_rules` leaves it out, since a larger table would not help;
   * `detailed_matches` only where neither of them does.
   */
  readonly limit: RoomLimit;
}

/** Numbers of rules; only of limits that leave some out. */
export type LeftOutByLimit = Readonly<Partial<Record<RoomLimit, number>>>;

/** In the order of ROOM_LIMITS. */
export function leftOutByLimit(rules: readonly LeftOutRule<unknown>[]): LeftOutByLimit {
  const counts = ROOM_LIMITS.map((limit) => [limit, rules.filter((one) => one.limit === limit).length] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

export function leftOutInAll(counts: LeftOutByLimit): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** For a log line about rules that are left out. */
export function remediesOf(counts: LeftOutByLimit): string {
  return ROOM_LIMITS.filter((limit) => counts[limit] !== undefined)
    .map((limit) => REMEDIES[limit])
    .join("; ");
}
