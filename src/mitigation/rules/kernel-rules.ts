/**
 * The rules of active bans for this machine's kernel: those of FlowSpec, divert and scrub bans, and for a blackhole one
 * rule that discards all. Pure; independent of how the kernel stores them.
 */
import { PrefixSet } from "../../net/prefix-set.ts";
import type { Ban } from "../ban.ts";
import { isOneAddress } from "../ban-subject.ts";
import { mostValuableFirst } from "../ban-value.ts";
import { narrowRules } from "../measure.ts";
import { type ScrubRule, scrubRules } from "../scrub/scrub-rules.ts";
import type { OwnedRule } from "./kernel-rule.ts";
import { type FilterRule, type Rule, ruleText, wideRule } from "./rule.ts";

/** Bytes per second: the kernel's limiter cannot represent a lower rate. */
const RATE_MIN = 1;

/** The kernel rules of one ban; none if it is virtual, ended or only watches. Cached by ban. */
export function kernelRulesOf(ban: Ban): readonly OwnedRule[] {
  let made = MADE.get(ban);
  if (made === undefined) {
    made = makeRules(ban);
    MADE.set(ban, made);
  }
  return made;
}

const MADE = new WeakMap<Ban, readonly OwnedRule[]>();

/** The most valuable first, see mostValuableFirst(). */
export function rulesOfBans(bans: Iterable<Ban>): OwnedRule[] {
  const all = [...bans].sort(mostValuableFirst);
  const validated = new PrefixSet(all.filter(validatesTcp).map(({ prefix }) => prefix));
  // If an enclosing prefix validates TCP, its learn rules are omitted: attackers must not become known sources.
  const isWanted = ({ rule }: OwnedRule) =>
    rule.action.kind !== "learn" || rule.destination === null || !validated.hasAround(rule.destination);
  return all.flatMap(kernelRulesOf).filter(isWanted);
}

/** Whether the ban is of more than one address and validates TCP. */
function validatesTcp({ prefix, measure }: Ban): boolean {
  return measure.kind === "scrub" && measure.filter.tcp !== null && !measure.filter.countsOnly && !isOneAddress(prefix);
}

function makeRules(ban: Ban): readonly OwnedRule[] {
  const { id: banId, expiresAt: expiresAtMs, measure } = ban;
  const isDryRun = measure.kind === "scrub" && measure.filter.countsOnly;
  const whole = measure.kind === "scrub" ? { whole: banId } : {};
  return toKernelRules(wantedRules(ban), `${banId}/`, { owner: banId, isDryRun, expiresAtMs, ...whole });
}

/** Equal rules become one. @param prefix the beginning of the ids. */
export function toKernelRules(
  rules: readonly ScrubRule[],
  prefix: string,
  rest: Pick<OwnedRule, "owner" | "isDryRun" | "expiresAtMs" | "whole">,
): OwnedRule[] {
  const byId = new Map<string, OwnedRule>();
  for (const { rule, reason } of rules) {
    const id = prefix + Bun.hash(ruleText(rule)).toString(16);
    byId.set(id, { id, rule: atLeastRate(rule), reason, ...rest });
  }
  return [...byId.values()];
}

function wantedRules({ state, dryRun, measure, prefix }: Ban): readonly ScrubRule[] {
  if (state !== "active" || dryRun) return [];
  switch (measure.kind) {
    case "none":
      return [];
    case "blackhole":
      return [{ rule: wideRule(prefix, { kind: "discard" }), reason: "rule" }];
    case "divert":
      return narrowRules(measure.rules).map(ofAttack);
    case "scrub":
      return scrubRules(prefix, measure.filter, narrowRules(measure.rules));
    case "flowspec":
      return measure.rules.map(ofAttack);
    default:
      return measure satisfies never;
  }
}

/** A rule as it is, without a filter. */
export function ofAttack(rule: Rule): ScrubRule {
  return { rule, reason: "rule" };
}

function atLeastRate(rule: FilterRule): FilterRule {
  const { action } = rule;
  if (action.kind !== "rate_limit" || action.bytesPerSecond >= RATE_MIN) return rule;
  return { ...rule, action: { ...action, bytesPerSecond: RATE_MIN } };
}
