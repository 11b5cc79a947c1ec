/**
 * The match fields of a rule. FlowSpec, the document of scrub nodes and the kernel's rules are encoded from this one
 * form; whether one of them can say it is decided there (`ruleProblem()`, `canExpress()`).
 */
import { FILTER_PORT_RANGES_MAX } from "../../native/constants.ts";
import { type Prefix, prefixContains } from "../../net/prefix.ts";
import { isInRanges, type Range, rangesText, rangeText } from "../../net/range.ts";
import { protocolName } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";

/** Every field narrows the match; null or an empty list matches anything. */
export interface Match {
  readonly destination: Prefix | null;
  readonly source: Prefix | null;
  /** This field and the next two: at most RANGES_MAX each. */
  readonly protocols: readonly Range[];
  readonly sourcePorts: readonly Range[];
  readonly destinationPorts: readonly Range[];
  /** Bits that must be set and bits that must be unset; FIN is 1. */
  readonly tcpFlags: { readonly set: number; readonly unset: number } | null;
  /** True: any fragment, including the first; false: no fragment. */
  readonly fragment: boolean | null;
  /** Lengths of the IP packet with its headers, bytes. At most LENGTH_RANGES_MAX; in FlowSpec and scrub documents one. */
  readonly packetLengths: readonly Range[];
  /** Only the kernel's rules have the fields from here on (addon/bpf/match_details.h). Of IPv6 the hop limit. */
  readonly ttl: Range | null;
  /** Code points, one of which the packet has. */
  readonly dscp: readonly number[];
  /** The window field of the TCP header, not scaled. */
  readonly tcpWindow: Range | null;
  /** Kinds of TCP options that the packet has, and that it does not have: 0 to 63. */
  readonly tcpOptions: { readonly set: readonly number[]; readonly unset: readonly number[] } | null;
  /** The payload has one of these. At most PATTERNS_MAX. */
  readonly payload: readonly PayloadPattern[];
  /** Named sets of prefixes (config `prefix_sets`): the source lies in one of these, and in none of those. */
  readonly inSets: readonly string[];
  readonly notInSets: readonly string[];
}

/** Bytes of the payload from an offset on; `mask` and `value` are as long, and `value` has no bit that `mask` lacks. */
export interface PayloadPattern {
  readonly offset: number;
  readonly mask: readonly number[];
  readonly value: readonly number[];
}

export const ANY_MATCH: Match = {
  destination: null,
  source: null,
  protocols: [],
  sourcePorts: [],
  destinationPorts: [],
  tcpFlags: null,
  fragment: null,
  packetLengths: [],
  ttl: null,
  dscp: [],
  tcpWindow: null,
  tcpOptions: null,
  payload: [],
  inSets: [],
  notInSets: [],
};

export const RANGES_MAX = FILTER_PORT_RANGES_MAX;
export const PROTOCOL_MAX = 0xff;
export const PORT_MAX = 0xffff;

/**
 * By the fields that FlowSpec has: a header does not show the others. A match with ports or flags does not match a packet
 * without them, such as a later fragment.
 */
export function ruleMatches(match: Match, packet: PacketHeader): boolean {
  const { destination, source, protocols, tcpFlags, fragment, packetLengths } = match;
  return (
    isInRanges(protocols, packet.protocol) &&
    (fragment === null || (packet.fragment !== null) === fragment) &&
    isInRanges(packetLengths, packet.packetBytes) &&
    isInPorts(match.sourcePorts, packet.ports?.source) &&
    isInPorts(match.destinationPorts, packet.ports?.destination) &&
    (tcpFlags === null || hasFlags(packet.tcpFlags, tcpFlags)) &&
    (destination === null || prefixContains(destination, packet.destination)) &&
    (source === null || prefixContains(source, packet.source))
  );
}

/** ruleMatches() for a packet of which all other fields are known to match. */
export function fieldsMatch(fields: Partial<Match>, packet: PacketHeader): boolean {
  const { protocols, sourcePorts, destinationPorts, tcpFlags, fragment, packetLengths } = fields;
  return (
    (protocols === undefined || isInRanges(protocols, packet.protocol)) &&
    (fragment === undefined || fragment === null || (packet.fragment !== null) === fragment) &&
    (packetLengths === undefined || isInRanges(packetLengths, packet.packetBytes)) &&
    (sourcePorts === undefined || isInPorts(sourcePorts, packet.ports?.source)) &&
    (destinationPorts === undefined || isInPorts(destinationPorts, packet.ports?.destination)) &&
    (tcpFlags === undefined || tcpFlags === null || hasFlags(packet.tcpFlags, tcpFlags))
  );
}

function isInPorts(ranges: readonly Range[], port: number | undefined): boolean {
  return ranges.length === 0 || (port !== undefined && isInRanges(ranges, port));
}

function hasFlags(flags: number | null, { set, unset }: { set: number; unset: number }): boolean {
  return flags !== null && (flags & set) === set && (flags & unset) === 0;
}

/** Whether only the kernel's rules can say it. */
export function isOfKernelOnly(match: Match): boolean {
  const { ttl, dscp, tcpWindow, tcpOptions, packetLengths, payload, inSets, notInSets } = match;
  const lists = dscp.length + payload.length + inSets.length + notInSets.length;
  return lists > 0 || ttl !== null || tcpWindow !== null || tcpOptions !== null || packetLengths.length > 1;
}

/** `dst 192.0.2.7/32 proto udp src-port 53 ttl 1-5 payload 0:16/ff`. Equal matches have equal texts. */
export function matchText(match: Match): string {
  const { tcpFlags, fragment, ttl, dscp, tcpWindow, tcpOptions, packetLengths, payload } = match;
  const parts: string[] = [];
  const add = (name: string, value: string | null) => {
    if (value !== null) parts.push(name, value);
  };
  add("dst", match.destination?.text ?? null);
  add("src", match.source?.text ?? null);
  add("proto", rangesText(match.protocols, protocolText));
  add("src-port", rangesText(match.sourcePorts));
  add("dst-port", rangesText(match.destinationPorts));
  add("tcp-flags", tcpFlags && flagsText(tcpFlags));
  add("fragment", fragment === null ? null : fragment ? "yes" : "no");
  add("ttl", ttl && rangeText(ttl));
  add("dscp", dscp.length === 0 ? null : dscp.join());
  add("tcp-window", tcpWindow && rangeText(tcpWindow));
  add("tcp-options", tcpOptions && optionsText(tcpOptions));
  add("length", rangesText(packetLengths));
  add("payload", payload.length === 0 ? null : payload.map(patternText).join(" or "));
  add("src-set", match.inSets.length === 0 ? null : match.inSets.join());
  add("src-set", match.notInSets.length === 0 ? null : match.notInSets.map((name) => `!${name}`).join());
  return parts.length === 0 ? "any" : parts.join(" ");
}

function protocolText(range: Range): string {
  return range.from === range.to ? protocolName(range.from) : rangeText(range);
}

const FLAG_NAMES = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"] as const;

/** `syn,!ack`. */
function flagsText({ set, unset }: { set: number; unset: number }): string {
  const names = FLAG_NAMES.filter((_, bit) => (set & (1 << bit)) !== 0);
  const absent = FLAG_NAMES.filter((_, bit) => (unset & (1 << bit)) !== 0).map((name) => `!${name}`);
  return [...names, ...absent].join();
}

function optionsText({ set, unset }: NonNullable<Match["tcpOptions"]>): string {
  return [...set.map(String), ...unset.map((kind) => `!${kind}`)].join();
}

function patternText({ offset, mask, value }: PayloadPattern): string {
  const hex = (bytes: readonly number[]) => Buffer.from(bytes).toString("hex");
  return mask.every((byte) => byte === 0xff) ? `${offset}:${hex(value)}` : `${offset}:${hex(value)}/${hex(mask)}`;
}

/** Whether only the destination is matched. */
export function matchesOnlyDestination(match: Match): boolean {
  const { source, protocols, sourcePorts, destinationPorts, tcpFlags, fragment, packetLengths } = match;
  const ranges = protocols.length + sourcePorts.length + destinationPorts.length + packetLengths.length;
  return ranges === 0 && source === null && tcpFlags === null && fragment === null && !isOfKernelOnly(match);
}
