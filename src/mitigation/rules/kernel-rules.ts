/**
 * The rules of active bans for the kernel of this machine: those of FlowSpec and divert bans, those of the filter of
 * bans that scrub, and for a blackhole one rule that discards all. Pure; independent of how the kernel stores them.
 */
import { PrefixSet } from "../../net/prefix-set.ts";
import type { Ban } from "../ban.ts";
import { isOneAddress } from "../ban-subject.ts";
import { mostValuableFirst } from "../ban-value.ts";
import { narrowRules } from "../measure.ts";
import { type DropReason, type ScrubRule, scrubRules } from "../scrub/scrub-rules.ts";
import { type FittableRule, fittingRules } from "./fitting-rules.ts";
import type { InlineAction } from "./inline-action.ts";
import { type Rule, ruleText, wideRule } from "./rule.ts";
import { detailsText, type RuleDetails } from "./rule-details.ts";

export interface KernelRule extends FittableRule {
  /** At most 63 bytes, from the ban's id and the rule's text. An unchanged rule keeps its id, and so its counts, also over restarts. */
  readonly id: string;
  readonly banId: string;
  /** In place of the rule's own action. */
  readonly inline?: InlineAction;
  /** What else must match. */
  readonly details?: RuleDetails;
  readonly reason: DropReason;
  /** What it would do is counted only. */
  readonly isDryRun: boolean;
  /** Wall clock, ms: the expiry of the ban. */
  readonly expiresAtMs: number;
}

export interface KernelRules {
  readonly rules: readonly KernelRule[];
  /** Number of rules that did not fit. */
  readonly leftOut: number;
}

/** Bytes per second: the kernel's limiter cannot represent a lower rate. */
const RATE_MIN = 1;

/** The kernel rules of one ban; none if it is virtual, ended or only watches. Cached by ban. */
export function kernelRulesOf(ban: Ban): readonly KernelRule[] {
  let made = MADE.get(ban);
  if (made === undefined) {
    made = makeRules(ban);
    MADE.set(ban, made);
  }
  return made;
}

const MADE = new WeakMap<Ban, readonly KernelRule[]>();

/**
 * The rules that fit into `room` and the kernel's limit per destination. If not all fit, those of manual bans come
 * first, then those of the largest attacks: small ones must not take the room.
 */
export function kernelRules(bans: Iterable<Ban>, room: number): KernelRules {
  const all = [...bans];
  const validated = new PrefixSet(all.filter(validatesTcp).map(({ prefix }) => prefix));
  // Where the ban of a prefix around asks for proofs, who attacks is not to be learned.
  const isWanted = ({ rule, inline }: KernelRule) =>
    inline?.kind !== "learn" || rule.destination === null || !validated.hasAround(rule.destination);
  const rulesOf = (some: readonly Ban[]) => some.flatMap(kernelRulesOf).filter(isWanted);
  const wanted = rulesOf(all);
  const rules = fittingRules(wanted, room);
  if (rules.length === wanted.length) return { rules, leftOut: 0 };
  const largest = fittingRules(rulesOf(all.sort(mostValuableFirst)), room);
  return { rules: largest, leftOut: wanted.length - largest.length };
}

/** Of more than one address. */
function validatesTcp({ prefix, measure }: Ban): boolean {
  return measure.kind === "scrub" && measure.filter.tcp !== null && !measure.filter.countsOnly && !isOneAddress(prefix);
}

function makeRules(ban: Ban): readonly KernelRule[] {
  const { id: banId, expiresAt: expiresAtMs, measure } = ban;
  const isDryRun = measure.kind === "scrub" && measure.filter.countsOnly;
  const whole = measure.kind === "scrub" ? { whole: banId } : {};
  return toKernelRules(wantedRules(ban), `${banId}/`, { banId, isDryRun, expiresAtMs, ...whole });
}

/** Equal rules become one. @param owner the beginning of the ids. */
export function toKernelRules(
  rules: readonly ScrubRule[],
  owner: string,
  rest: Pick<KernelRule, "banId" | "isDryRun" | "expiresAtMs" | "whole">,
): KernelRule[] {
  const byId = new Map<string, KernelRule>();
  for (const { rule, inline, details, reason } of rules) {
    const id = ruleId(owner, { rule, ...(inline && { inline }), ...(details && { details }) });
    byId.set(id, {
      id,
      rule: atLeastRate(rule),
      ...(inline && { inline }),
      ...(details && { details }),
      reason,
      ...rest,
    });
  }
  return [...byId.values()];
}

/** An id from the rule's text: an unchanged rule keeps its id, and so the kernel's counts. */
function ruleId(owner: string, { rule, inline, details }: Omit<ScrubRule, "reason">): string {
  const more = details === undefined ? "" : ` ${detailsText(details)}`;
  return owner + Bun.hash(ruleText(rule) + (inline === undefined ? "" : JSON.stringify(inline)) + more).toString(16);
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

function atLeastRate(rule: Rule): Rule {
  const { action } = rule;
  if (action.kind === "discard" || action.bytesPerSecond >= RATE_MIN) return rule;
  return { ...rule, action: { ...action, bytesPerSecond: RATE_MIN } };
}
