/**
 * The rules of active bans for the kernel of this machine: those of FlowSpec and divert bans, and for a blackhole one
 * rule that discards all. Pure; independent of how the kernel stores them.
 */
import { DYNAMIC_RULES_PER_DESTINATION } from "../../limits.ts";
import type { Prefix } from "../../net/prefix.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { Ban } from "../ban.ts";
import { mostValuableFirst } from "../ban-value.ts";
import { rulesBesideValidation, scrubRules } from "../measure.ts";
import { type Rule, ruleText, wideRule } from "./rule.ts";
import type { Validation } from "./validation.ts";

export interface KernelRule {
  /** At most 63 bytes, from the ban's id and the rule's text. An unchanged rule keeps its id, also over restarts. */
  readonly id: string;
  readonly banId: string;
  readonly rule: Rule;
  /** In place of the rule's own action. */
  readonly validation?: Validation;
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
  const wanted = all.flatMap(kernelRulesOf);
  const rules = fittingRules(wanted, room);
  if (rules.length === wanted.length) return { rules, leftOut: 0 };
  const largest = fittingRules(all.sort(mostValuableFirst).flatMap(kernelRulesOf), room);
  return { rules: largest, leftOut: wanted.length - largest.length };
}

/** The first rules that fit into `room` and the kernel's limit per destination. */
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

/** An id from the rule's text: an unchanged rule keeps its id, and so the kernel's drop count. */
export function ruleId(owner: string, rule: Rule): string {
  return owner + Bun.hash(ruleText(rule)).toString(16);
}

function makeRules(ban: Ban): readonly KernelRule[] {
  const { id: banId, expiresAt: expiresAtMs } = ban;
  const byId = new Map<string, KernelRule>();
  const validation = validationOf(ban);
  // First, so that the rules that follow decide about sources that proved their address.
  if (validation !== null) {
    const id = `${banId}/${validation.kind}`;
    byId.set(id, { id, banId, rule: tcpTo(ban.prefix), validation, expiresAtMs });
  }
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
      return scrubRules(measure.rules);
    case "scrub":
      return rulesBesideValidation(measure);
    case "flowspec":
      return measure.rules;
    default:
      return measure satisfies never;
  }
}

function validationOf({ state, dryRun, measure }: Ban): Validation | null {
  if (state !== "active" || dryRun || measure.kind !== "scrub" || measure.tcp === null) return null;
  return { kind: `validate_${measure.tcp}`, learnedBytesPerSecond: 0, isDryRun: false };
}

/** Matches all TCP to a prefix. */
export function tcpTo(prefix: Prefix): Rule {
  return { ...wideRule(prefix, { kind: "discard" }), protocol: IP_PROTOCOL.tcp };
}

function atLeastRate(rule: Rule): Rule {
  const { action } = rule;
  if (action.kind === "discard" || action.bytesPerSecond >= RATE_MIN) return rule;
  return { ...rule, action: { ...action, bytesPerSecond: RATE_MIN } };
}
