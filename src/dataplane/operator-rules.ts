/**
 * Which rules can be in force now, by their named sets and the room of the kernel: of the operator, and of bans those that
 * ask for details. What each of the operator's matched. Pure.
 */
import type { OperatorKernelRule, OperatorKernelRules } from "../mitigation/operator/operator-kernel-rules.ts";
import type { RuleDetails } from "../mitigation/rules/rule-details.ts";
import type { SetBitOf } from "./details-record.ts";
import type { FilterRuleRow } from "./kernel-filter.ts";

/** What a rule of the operator matched since it is in force, and of that dropped. Bytes of frames. */
export interface RuleCounts {
  readonly packets: number;
  readonly bytes: number;
  readonly droppedPackets: number;
  readonly droppedBytes: number;
}

export const NO_OPERATOR_RULES: OperatorKernelRules = { rules: [], destinations: [], leftOut: 0 };

/**
 * Without rules that ask for a set which is not in force: it may be so for a moment, and must not hold up the others. Where
 * one of these lets packets pass, the rules behind it for the same destination that drop are left out too: they would
 * drop sources that the set spares.
 */
export function withSets(rules: OperatorKernelRules, bitOf: SetBitOf): OperatorKernelRules {
  const destinations = rules.destinations.map((list) => ({ ...list, rules: withSparing(list.rules, bitOf) }));
  const kept = new Set(destinations.flatMap((list) => list.rules));
  const gone = new Set(rules.destinations.flatMap((list) => list.rules.filter((rule) => !kept.has(rule))));
  const isKept = (rule: OperatorKernelRule) => !gone.has(rule) && areInForce(rule.details, bitOf);
  return { ...rules, rules: rules.rules.filter(isKept), destinations };
}

function withSparing(rules: readonly OperatorKernelRule[], bitOf: SetBitOf): OperatorKernelRule[] {
  let isSparing = true;
  return rules.filter((rule) => {
    const isPass = rule.inline?.kind === "pass";
    if (areInForce(rule.details, bitOf)) return isPass || isSparing || rule.isDryRun;
    if (isPass && !rule.isDryRun) isSparing = false;
    return false;
  });
}

/** How many rules the kernel takes, and how many of them may ask for details. */
interface Room {
  readonly rules: number;
  readonly detailed: number;
}

/** The first ones for which the kernel has room: it takes all rules or none, and those of bans must not wait for these. */
export function withinRoom(rules: OperatorKernelRules, room: Room): OperatorKernelRules {
  const kept = new Set(withinDetails(rules.rules, room.detailed).slice(0, Math.max(0, room.rules)));
  if (kept.size === rules.rules.length) return rules;
  const destinations = rules.destinations.map((list) => ({
    ...list,
    rules: list.rules.filter((one) => kept.has(one)),
  }));
  return { rules: [...kept], destinations, leftOut: rules.leftOut + rules.rules.length - kept.size };
}

/** Without rules that ask for details beyond the room for such; what else their bans have stays. */
export function withinDetails<Rule extends { readonly details?: RuleDetails }>(
  rules: readonly Rule[],
  room: number,
): readonly Rule[] {
  let left = room;
  return rules.filter(({ details }) => details === undefined || left-- > 0);
}

export function detailedOf(rules: readonly { readonly details?: RuleDetails }[]): number {
  return rules.reduce((count, { details }) => count + (details === undefined ? 0 : 1), 0);
}

/** Whether all sets that are asked for are in force. */
export function areInForce(details: RuleDetails | undefined, bitOf: SetBitOf): boolean {
  return details === undefined || [...details.inSets, ...details.notInSets].every((name) => bitOf(name) !== null);
}

/** By the name of the operator's rule, which may be several in the kernel. */
export function countsByName(
  { rules }: OperatorKernelRules,
  rows: readonly FilterRuleRow[],
): ReadonlyMap<string, RuleCounts> {
  const names = new Map(rules.map(({ id, name }) => [id, name]));
  const byName = new Map<string, RuleCounts>();
  for (const { id, packets, bytes, droppedPackets, droppedBytes } of rows) {
    const name = names.get(id);
    if (name === undefined) continue;
    const before = byName.get(name);
    byName.set(name, {
      packets: (before?.packets ?? 0) + packets,
      bytes: (before?.bytes ?? 0) + bytes,
      droppedPackets: (before?.droppedPackets ?? 0) + droppedPackets,
      droppedBytes: (before?.droppedBytes ?? 0) + droppedBytes,
    });
  }
  return byName;
}
