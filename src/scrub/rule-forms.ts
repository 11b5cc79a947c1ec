/**
 * Converts rules into forms that a scrub node supports. Old agents ignore match fields that they do not know, and would
 * drop more than intended: a rule is split into simpler ones, or left out. Pure.
 */
import { isOfKernelOnly } from "../mitigation/rules/match.ts";
import type { RuleReader } from "../mitigation/rules/reader-rules.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import { onlyValue, type Range, singleValues } from "../net/range.ts";

/** Single-port rules that may replace one rule with port ranges, for a scrub node that does not support ranges. */
export const RULE_FORMS_MAX = 16;

/**
 * Match fields that the first version lacked, as in `capabilities` of a node's report: `src_ports` and `dst_ports`,
 * `tcp_flags_unset`, `packet_length`, `protos`.
 */
export const RULE_CAPABILITIES = ["port_ranges", "tcp_flags_unset", "packet_length", "protocol_ranges"] as const;
export type RuleCapability = (typeof RULE_CAPABILITIES)[number];
export type RuleSupport = ReadonlySet<RuleCapability>;

export interface RuleForms {
  readonly rules: readonly Rule[];
  /** Number of rules that were split into several simpler ones. */
  readonly split: number;
  /** Number of rules that cannot be expressed without matching more than intended. */
  readonly leftOut: number;
}

export function ruleSupportOf(capabilities: readonly string[]): RuleSupport {
  return new Set(RULE_CAPABILITIES.filter((capability) => capabilities.includes(capability)));
}

export function missingOf(support: RuleSupport): readonly RuleCapability[] {
  return RULE_CAPABILITIES.filter((capability) => !support.has(capability));
}

/** Equal texts mean equal capabilities. */
export function ruleSupportKey(support: RuleSupport): string {
  return RULE_CAPABILITIES.filter((capability) => support.has(capability)).join();
}

/** Whether the rule can be expressed without matching more than intended, as one rule or as several. */
export function canExpress(rule: Rule, support: RuleSupport): boolean {
  return formsOfRule(rule, support).length > 0;
}

/** A scrub node with this support. */
export function nodeReader(support: RuleSupport): RuleReader {
  return {
    key: ruleSupportKey(support),
    concerning: rulesTowardsVictim,
    canExpress: (rule) => canExpress(rule, support),
    rulesMax: Number.POSITIVE_INFINITY,
    hasOwnAlways: false,
  };
}

/** Traffic from the victim does not pass a scrub node. */
export function rulesTowardsVictim(rules: readonly Rule[]): readonly Rule[] {
  return rules.filter(({ destination }) => destination !== null);
}

export function formsOf(rules: readonly Rule[], support: RuleSupport): RuleForms {
  const forms = rules.map((rule) => formsOfRule(rule, support));
  return {
    rules: forms.flat(),
    split: forms.filter(({ length }) => length > 1).length,
    leftOut: forms.filter(({ length }) => length === 0).length,
  };
}

/**
 * Each part has the full rate of a rate limit: a fraction of it would stop traffic on one port that must pass. Empty:
 * left out.
 */
function formsOfRule(rule: Rule, support: RuleSupport): readonly Rule[] {
  if (!isExpressible(rule, support)) return [];
  const protocols = partsOf(rule.protocols, support.has("protocol_ranges"));
  const sources = partsOf(rule.sourcePorts, support.has("port_ranges"));
  const destinations = partsOf(rule.destinationPorts, support.has("port_ranges"));
  if (protocols.length * sources.length * destinations.length > RULE_FORMS_MAX) return [];
  return protocols.flatMap((protocols) =>
    sources.flatMap((sourcePorts) =>
      destinations.map((destinationPorts) => ({ ...rule, protocols, sourcePorts, destinationPorts })),
    ),
  );
}

/** Absent or zero matches anything (docs/interface.md#rule): so an exact zero cannot be expressed. */
function isExpressible(rule: Rule, support: RuleSupport): boolean {
  const { tcpFlags, fragment, packetLengths } = rule;
  if (fragment === false || isOfKernelOnly(rule)) return false;
  if (packetLengths.length > 0 && !support.has("packet_length")) return false;
  if (tcpFlags === null) return true;
  return tcpFlags.unset === 0 ? tcpFlags.set !== 0 : support.has("tcp_flags_unset");
}

/** As they are where ranges can be expressed, else each value by itself. Empty: too many, or one of them is zero. */
function partsOf(ranges: readonly Range[], areRangesKnown: boolean): readonly (readonly Range[])[] {
  const value = onlyValue(ranges);
  if (areRangesKnown || ranges.length === 0 || (value !== null && value !== 0)) return [ranges];
  return ranges.some(({ from }) => from === 0) ? [] : (singleValues(ranges, RULE_FORMS_MAX) ?? []);
}
