/**
 * The forms of a rule that a scrub node understands. Of old agents of other makes a match field that they do not know is
 * ignored, and the rule drops more than was meant: what cannot be said to them otherwise they do not get. Pure.
 */
import { RULE_FORMS_MAX } from "../limits.ts";
import type { PortRange, Rule } from "../mitigation/rules/rule.ts";

/**
 * Match fields beyond the first version's, as a node's report lists them in `capabilities`: `src_ports` and `dst_ports`,
 * `tcp_flags_unset`, `packet_length`.
 */
export const RULE_CAPABILITIES = ["port_ranges", "tcp_flags_unset", "packet_length"] as const;
export type RuleCapability = (typeof RULE_CAPABILITIES)[number];
export type Understanding = ReadonlySet<RuleCapability>;

export interface RuleForms {
  readonly rules: readonly Rule[];
  /** Rules that are there in several simpler ones. */
  readonly split: number;
  /** Rules that cannot be said without dropping more than was meant. */
  readonly leftOut: number;
}

export function understandingOf(capabilities: readonly string[]): Understanding {
  return new Set(RULE_CAPABILITIES.filter((capability) => capabilities.includes(capability)));
}

export function missingOf(understood: Understanding): readonly RuleCapability[] {
  return RULE_CAPABILITIES.filter((capability) => !understood.has(capability));
}

/** Equal texts, equal understanding. */
export function understandingKey(understood: Understanding): string {
  return RULE_CAPABILITIES.filter((capability) => understood.has(capability)).join();
}

export function formsOf(rules: readonly Rule[], understood: Understanding): RuleForms {
  const forms = rules.map((rule) => formsOfRule(rule, understood));
  return {
    rules: forms.flat(),
    split: forms.filter(({ length }) => length > 1).length,
    leftOut: forms.filter(({ length }) => length === 0).length,
  };
}

/** Each has the whole rate of a limit: parts of it would stop traffic of one port that was to pass. Empty: left out. */
function formsOfRule(rule: Rule, understood: Understanding): readonly Rule[] {
  if (!canBeSaid(rule, understood)) return [];
  if (understood.has("port_ranges") || (isPlain(rule.sourcePorts) && isPlain(rule.destinationPorts))) return [rule];
  const sources = singlePorts(rule.sourcePorts);
  const destinations = singlePorts(rule.destinationPorts);
  if (sources === null || destinations === null || sources.length * destinations.length > RULE_FORMS_MAX) return [];
  return sources.flatMap((sourcePorts) =>
    destinations.map((destinationPorts) => ({ ...rule, sourcePorts, destinationPorts })),
  );
}

/** Absent or zero matches anything (docs/interface.md#rule): a zero that is meant cannot be said. */
function canBeSaid({ protocol, tcpFlags, fragment, packetLength }: Rule, understood: Understanding): boolean {
  if (protocol === 0 || fragment === false) return false;
  if (packetLength !== null && !understood.has("packet_length")) return false;
  if (tcpFlags === null) return true;
  return tcpFlags.unset === 0 ? tcpFlags.set !== 0 : understood.has("tcp_flags_unset");
}

/** Any port, or one that is not zero. */
function isPlain([range, ...others]: readonly PortRange[]): boolean {
  return range === undefined || (others.length === 0 && range.from === range.to && range.from !== 0);
}

/** Each as a list of its own; null: too many, or one of them is zero. */
function singlePorts(ranges: readonly PortRange[]): (readonly PortRange[])[] | null {
  if (ranges.length === 0) return [[]];
  const count = ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  if (count > RULE_FORMS_MAX || ranges.some(({ from }) => from === 0)) return null;
  return ranges.flatMap(({ from, to }) =>
    Array.from({ length: to - from + 1 }, (_, i) => [{ from: from + i, to: from + i }]),
  );
}
