/** The match fields that a router supports in FlowSpec rules. Pure. */
import type { Range } from "../../net/range.ts";
import { RULES_MAX, type Rule } from "./rule.ts";

/** Beside the banned prefix, by which every rule matches. */
export const FLOWSPEC_FIELDS = [
  "source",
  "protocol",
  "source_port",
  "destination_port",
  "tcp_flags",
  "packet_length",
  "fragment",
] as const;
type FlowspecField = (typeof FLOWSPEC_FIELDS)[number];

export interface FlowspecSupport {
  readonly fields: readonly FlowspecField[];
  /** A range of values in a field, and several values. */
  readonly ranges: boolean;
  readonly lists: boolean;
  /** TCP flags that must be unset, beside those that must be set. */
  readonly unsetFlags: boolean;
  /** Maximum for one ban. */
  readonly rulesPerBan: number;
}

export const ANY_RULES: FlowspecSupport = {
  fields: FLOWSPEC_FIELDS,
  ranges: true,
  lists: true,
  unsetFlags: true,
  rulesPerBan: RULES_MAX,
};

/** Equal texts mean equal rules. */
export function supportText({ fields, ranges, lists, unsetFlags, rulesPerBan }: FlowspecSupport): string {
  return [FLOWSPEC_FIELDS.filter((field) => fields.includes(field)), ranges, lists, unsetFlags, rulesPerBan].join();
}

const ANY_RULES_TEXT = supportText(ANY_RULES);

export function isAnyRules(support: FlowspecSupport): boolean {
  return supportText(support) === ANY_RULES_TEXT;
}

/** The fields of the rule that the routers cannot match, for people; null: they can match it. */
export function unsupported(rule: Rule, support: FlowspecSupport): string | null {
  const { fields, ranges, lists, unsetFlags } = support;
  const used = usedFields(rule);
  const lacking = FLOWSPEC_FIELDS.find((field) => used.has(field) && !fields.includes(field));
  if (lacking !== undefined) return lacking.replaceAll("_", " ");
  const values = [rule.protocols, rule.sourcePorts, rule.destinationPorts, rule.packetLengths];
  if (!lists && values.some(({ length }) => length > 1)) return "several values in a field";
  if (!ranges && values.some((each) => each.some(isRange))) return "a range of values";
  return !unsetFlags && (rule.tcpFlags?.unset ?? 0) !== 0 ? "TCP flags that must be unset" : null;
}

function usedFields({ source, ...rule }: Rule): ReadonlySet<FlowspecField> {
  const used = new Set<FlowspecField>();
  // An outgoing attack has the banned prefix itself as its source, which takes the same field.
  if (source !== null) used.add("source");
  if (rule.protocols.length > 0) used.add("protocol");
  if (rule.sourcePorts.length > 0) used.add("source_port");
  if (rule.destinationPorts.length > 0) used.add("destination_port");
  if (rule.tcpFlags !== null) used.add("tcp_flags");
  if (rule.packetLengths.length > 0) used.add("packet_length");
  if (rule.fragment !== null) used.add("fragment");
  return used;
}

function isRange({ from, to }: Range): boolean {
  return from !== to;
}
