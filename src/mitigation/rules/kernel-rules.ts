/**
 * Which rules the bans in force want in the kernel of this machine: those of FlowSpec and divert bans, and for a blackhole
 * one that discards all. Pure. Knows nothing of how the kernel holds them.
 */
import { DYNAMIC_RULES_PER_DESTINATION } from "../../limits.ts";
import type { Ban } from "../ban.ts";
import { scrubRules } from "../measure.ts";
import { type Rule, ruleText, wideRule } from "./rule.ts";

export interface KernelRule {
  /** At most 63 bytes: of the ban, and of what the rule says. A rule that stays keeps its name, over restarts too. */
  readonly id: string;
  readonly banId: string;
  readonly rule: Rule;
  /** Wall clock, ms: that of the ban. */
  readonly expiresAtMs: number;
}

export interface KernelRules {
  readonly rules: readonly KernelRule[];
  /** For which there is no room. */
  readonly leftOut: number;
}

/** Bytes per second: less than this the kernel's limit cannot tell from nothing at all. */
const LEAST_RATE = 1;

/** Of a ban that is virtual or over, or that only watches, none. Made once for a ban as it is. */
export function kernelRulesOf(ban: Ban): readonly KernelRule[] {
  let made = MADE.get(ban);
  if (made === undefined) {
    made = makeRules(ban);
    MADE.set(ban, made);
  }
  return made;
}

const MADE = new WeakMap<Ban, readonly KernelRule[]>();

/** Those of the bans that come first, each whole, as far as `room` and the kernel's bound for one destination reach. */
export function kernelRules(bans: Iterable<Ban>, room: number): KernelRules {
  const wanted = [...bans].flatMap(kernelRulesOf);
  const rules = fittingRules(wanted, room);
  return { rules, leftOut: wanted.length - rules.length };
}

/** Those that come first, as far as `room` and the kernel's bound for one destination reach. */
export function fittingRules<Named extends { readonly rule: Rule }>(wanted: readonly Named[], room: number): Named[] {
  const towards = new Map<string, number>();
  const fitting: Named[] = [];
  for (const named of wanted) {
    const destination = named.rule.destination?.text ?? "any";
    const before = towards.get(destination) ?? 0;
    if (fitting.length >= room || before >= DYNAMIC_RULES_PER_DESTINATION) continue;
    towards.set(destination, before + 1);
    fitting.push(named);
  }
  return fitting;
}

/** Names it by what it says, so that a rule that stays keeps its name, and with it the kernel's count of what it dropped. */
export function ruleId(owner: string, rule: Rule): string {
  return owner + Bun.hash(ruleText(rule)).toString(16);
}

function makeRules(ban: Ban): readonly KernelRule[] {
  const { id: banId, expiresAt: expiresAtMs } = ban;
  const byId = new Map<string, KernelRule>();
  for (const rule of wantedRules(ban).map(atLeastRate)) {
    const id = ruleId(`${banId}/`, rule);
    byId.set(id, { id, banId, rule, expiresAtMs });
  }
  return [...byId.values()];
}

function wantedRules({ state, dryRun, measure, prefix }: Ban): readonly Rule[] {
  if (state !== "active" || dryRun) return [];
  switch (measure.kind) {
    case "none":
      return [];
    case "blackhole":
      return [wideRule(prefix, { kind: "discard" })];
    case "divert":
      return scrubRules(measure);
    case "flowspec":
      return measure.rules;
    default:
      return measure satisfies never;
  }
}

function atLeastRate(rule: Rule): Rule {
  const { action } = rule;
  if (action.kind === "discard" || action.bytesPerSecond >= LEAST_RATE) return rule;
  return { ...rule, action: { ...action, bytesPerSecond: LEAST_RATE } };
}
