/**
 * The filter of a machine: the operator's rules, those of bans and those that always stand, as one list within the room
 * that the kernel has. The service and the scrub agent put this in force. Pure.
 */
import { DETAILED_RULES_MAX } from "../../native/constants.ts";
import type { OperatorKernelRules } from "../operator/operator-kernel-rules.ts";
import { fittingRules } from "./fitting-rules.ts";
import type { OwnedRule, SetBitOf } from "./kernel-rule.ts";
import { isOfKernelOnly } from "./match.ts";
import type { LeftOutRule } from "./room-limit.ts";

interface FilterParts {
  /** They are tried before all others. */
  readonly operators: OperatorKernelRules;
  /** The rules of bans, then standing ones: the first find room before the others. */
  readonly rules: readonly OwnedRule[];
  /** Rules that fit, of the operator and others. */
  readonly room: number;
  readonly bitOf: SetBitOf;
  /** Ids of rules that find room before all others. */
  readonly inForce?: ReadonlySet<string>;
}

export interface Composed {
  readonly operators: OperatorKernelRules;
  readonly rules: readonly OwnedRule[];
  /** Rules that have room, and wait for a named set that is not in force yet. */
  readonly waiting: readonly OwnedRule[];
  /** Rules that find no room, beside those of the operator. */
  readonly leftOut: readonly LeftOutRule[];
}

export function compose({ operators, rules, room, bitOf, inForce }: FilterParts): Composed {
  const first = withinRoom(withSets(operators, bitOf), room);
  const fitting = fittingRules(rules, Math.max(0, room - first.rules.length), inForce);
  const ready = fitting.rules.filter(({ rule }) => areInForce(rule, bitOf));
  const put = withinDetails(ready, DETAILED_RULES_MAX - first.rules.filter(isDetailed).length);
  const waiting = fitting.rules.filter(({ rule }) => !areInForce(rule, bitOf));
  const isPut = new Set(put);
  const detailed = ready.filter((one) => !isPut.has(one)).map((rule) => ({ rule, limit: "detailed_matches" }) as const);
  return { operators: first, rules: put, waiting, leftOut: [...fitting.leftOut, ...detailed] };
}

/**
 * Without rules that ask for a set which is not in force: it may be so for a moment, and must not hold up the others. Where
 * one of these lets packets pass, the rules behind it for the same destination that drop are left out too: they would
 * drop sources that the set spares.
 */
function withSets(rules: OperatorKernelRules, bitOf: SetBitOf): OperatorKernelRules {
  const destinations = rules.destinations.map((list) => ({ ...list, rules: withSparing(list.rules, bitOf) }));
  const kept = new Set(destinations.flatMap((list) => list.rules));
  const gone = new Set(rules.destinations.flatMap((list) => list.rules.filter((rule) => !kept.has(rule))));
  const isKept = (one: OwnedRule) => !gone.has(one) && areInForce(one.rule, bitOf);
  return { ...rules, rules: rules.rules.filter(isKept), destinations };
}

function withSparing(rules: readonly OwnedRule[], bitOf: SetBitOf): OwnedRule[] {
  let isSparing = true;
  return rules.filter(({ rule, isDryRun }) => {
    const isPass = rule.action.kind === "pass";
    if (areInForce(rule, bitOf)) return isPass || isSparing || isDryRun;
    if (isPass && isDryRun !== true) isSparing = false;
    return false;
  });
}

/** The first ones that the kernel has room for: it takes all rules or none, and those of bans must not wait for these. */
function withinRoom(rules: OperatorKernelRules, room: number): OperatorKernelRules {
  const kept = new Set(withinDetails(rules.rules, DETAILED_RULES_MAX).slice(0, Math.max(0, room)));
  if (kept.size === rules.rules.length) return rules;
  const destinations = rules.destinations.map((list) => ({
    ...list,
    rules: list.rules.filter((one) => kept.has(one)),
  }));
  const shortened = destinations.filter((list, i) => list.rules.length < (rules.destinations[i]?.rules.length ?? 0));
  return { rules: [...kept], destinations, leftOut: rules.leftOut + shortened.length };
}

/** Without rules whose match takes a record of details beyond the room for such; what else their bans have stays. */
function withinDetails(rules: readonly OwnedRule[], room: number): readonly OwnedRule[] {
  let left = room;
  return rules.filter((one) => !isDetailed(one) || left-- > 0);
}

function isDetailed({ rule }: OwnedRule): boolean {
  return isOfKernelOnly(rule);
}

/** Whether all sets that are named are in force. */
function areInForce({ inSets, notInSets }: OwnedRule["rule"], bitOf: SetBitOf): boolean {
  return [...inSets, ...notInSets].every((name) => bitOf(name) !== null);
}
