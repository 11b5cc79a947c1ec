/**
 * Converts rules into forms that a scrub node supports. Old agents ignore match fields that they do not know, and would
 * drop more than intended: a rule is split into simpler ones, or left out. Pure.
 */
import { RULE_FORMS_MAX } from "../limits.ts";
import type { PortRange, Rule } from "../mitigation/rules/rule.ts";

/**
 * Match fields that the first version lacked, as in `capabilities` of a node's report: `src_ports` and `dst_ports`,
 * `tcp_flags_unset`, `packet_length`.
 */
export const RULE_CAPABILITIES = ["port_ranges", "tcp_flags_unset", "packet_length"] as const;
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
  if (support.has("port_ranges") || (isPlain(rule.sourcePorts) && isPlain(rule.destinationPorts))) return [rule];
  const sources = singlePorts(rule.sourcePorts);
  const destinations = singlePorts(rule.destinationPorts);
  if (sources === null || destinations === null || sources.length * destinations.length > RULE_FORMS_MAX) return [];
  return sources.flatMap((sourcePorts) =>
    destinations.map((destinationPorts) => ({ ...rule, sourcePorts, destinationPorts })),
  );
}

/** Absent or zero matches anything (docs/interface.md#rule): so an exact zero cannot be expressed. */
function isExpressible({ protocol, tcpFlags, fragment, packetLength }: Rule, support: RuleSupport): boolean {
  if (protocol === 0 || fragment === false) return false;
  if (packetLength !== null && !support.has("packet_length")) return false;
  if (tcpFlags === null) return true;
  return tcpFlags.unset === 0 ? tcpFlags.set !== 0 : support.has("tcp_flags_unset");
}

/** Any port, or a single nonzero port. */
function isPlain([range, ...others]: readonly PortRange[]): boolean {
  return range === undefined || (others.length === 0 && range.from === range.to && range.from !== 0);
}

/** Each port as a list of its own; null: too many, or one of them is zero. */
function singlePorts(ranges: readonly PortRange[]): (readonly PortRange[])[] | null {
  if (ranges.length === 0) return [[]];
  const count = ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  if (count > RULE_FORMS_MAX || ranges.some(({ from }) => from === 0)) return null;
  return ranges.flatMap(({ from, to }) =>
    Array.from({ length: to - from + 1 }, (_, i) => [{ from: from + i, to: from + i }]),
  );
}
