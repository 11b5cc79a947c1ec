/**
 * What few rules ask of a packet beside the fields of Rule. Only the data plane of this machine knows it: FlowSpec and
 * scrub nodes have no words for it. What a packet must have is defined by addon/bpf/match_details.h.
 */

import { type Range, rangesText, rangeText } from "../../net/range.ts";

/** Bytes of the payload from an offset on; `mask` and `value` are as long, and `value` has no bit that `mask` lacks. */
export interface PayloadPattern {
  readonly offset: number;
  readonly mask: readonly number[];
  readonly value: readonly number[];
}

/** All of it must match; null and an empty list match anything. */
export interface RuleDetails {
  /** Of IPv6 the hop limit. */
  readonly ttl: Range | null;
  /** Code points, one of which the packet has. */
  readonly dscp: readonly number[];
  /** Of TCP, as the header has it, without its scale. */
  readonly tcpWindow: Range | null;
  /** Kinds of TCP options that the packet has, and that it does not have: 0 to 63. */
  readonly tcpOptions: { readonly set: readonly number[]; readonly unset: readonly number[] } | null;
  /** Of the IP packet with its headers, bytes: it is within one of them. At most LENGTH_RANGES_MAX. */
  readonly lengths: readonly Range[];
  /** The payload has one of these. At most PATTERNS_MAX. */
  readonly payload: readonly PayloadPattern[];
  /** Named sets of prefixes (config `prefix_sets`): the source lies in one of these, and in none of those. */
  readonly inSets: readonly string[];
  readonly notInSets: readonly string[];
}

export const NO_DETAILS: RuleDetails = {
  ttl: null,
  dscp: [],
  tcpWindow: null,
  tcpOptions: null,
  lengths: [],
  payload: [],
  inSets: [],
  notInSets: [],
};

/** Whether anything is asked for. */
export function asksAnything(details: RuleDetails): boolean {
  return detailsText(details) !== "";
}

/** `ttl 1-5 payload 0:16/ff`, …; "": nothing. Equal details have equal texts. */
export function detailsText(details: RuleDetails): string {
  const { ttl, dscp, tcpWindow, tcpOptions, lengths, payload, inSets, notInSets } = details;
  const parts = [
    ttl === null ? "" : `ttl ${rangeText(ttl)}`,
    dscp.length === 0 ? "" : `dscp ${dscp.join(",")}`,
    tcpWindow === null ? "" : `tcp-window ${rangeText(tcpWindow)}`,
    tcpOptions === null ? "" : `tcp-options ${optionsText(tcpOptions)}`,
    lengths.length === 0 ? "" : `length ${rangesText(lengths)}`,
    payload.length === 0 ? "" : `payload ${payload.map(patternText).join(" or ")}`,
    inSets.length === 0 ? "" : `src-set ${inSets.join(",")}`,
    notInSets.length === 0 ? "" : `src-set ${notInSets.map((name) => `!${name}`).join(",")}`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function optionsText({ set, unset }: NonNullable<RuleDetails["tcpOptions"]>): string {
  return [...set.map(String), ...unset.map((kind) => `!${kind}`)].join(",");
}

function patternText({ offset, mask, value }: PayloadPattern): string {
  const hex = (bytes: readonly number[]) => Buffer.from(bytes).toString("hex");
  return mask.every((byte) => byte === 0xff) ? `${offset}:${hex(value)}` : `${offset}:${hex(value)}/${hex(mask)}`;
}
