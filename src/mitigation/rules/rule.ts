/**
 * A rule: match fields and an action. BGP FlowSpec, the local data plane and scrub nodes are encoded from this one
 * form; ruleMatches() alone defines what a rule matches.
 */
import { FILTER_PORT_RANGES_MAX } from "../../native/constants.ts";
import { type Prefix, prefixContains } from "../../net/prefix.ts";
import { isInRanges, onlyValue, type Range, rangesText, rangeText } from "../../net/range.ts";
import { protocolName } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";

export type RuleAction =
  | { readonly kind: "discard" }
  /** Above zero; zero would be a discard. */
  | { readonly kind: "rate_limit"; readonly bytesPerSecond: number };

/** Every field narrows the match; null or an empty list matches anything. */
export interface Rule {
  readonly destination: Prefix | null;
  readonly source: Prefix | null;
  /** Of these three at most RANGES_MAX each. */
  readonly protocols: readonly Range[];
  readonly sourcePorts: readonly Range[];
  readonly destinationPorts: readonly Range[];
  /** Bits that must be set and bits that must be unset; FIN is 1. */
  readonly tcpFlags: { readonly set: number; readonly unset: number } | null;
  /** True: any fragment, including the first; false: no fragment. */
  readonly fragment: boolean | null;
  /** Length of the IP packet with its headers, both ends inclusive. */
  readonly packetLength: { readonly min: number; readonly max: number } | null;
  readonly action: RuleAction;
}

export const RANGES_MAX = FILTER_PORT_RANGES_MAX;
export const PROTOCOL_MAX = 0xff;
export const PORT_MAX = 0xffff;

/** The maximum that the generator makes for one attack. */
export const RULES_MAX = 8;

/** A rule with ports or flags does not match a packet without them, such as a later fragment. */
export function ruleMatches(rule: Rule, packet: PacketHeader): boolean {
  const { destination, source, protocols, tcpFlags, fragment, packetLength } = rule;
  return (
    isInRanges(protocols, packet.protocol) &&
    (fragment === null || (packet.fragment !== null) === fragment) &&
    (packetLength === null || (packetLength.min <= packet.packetBytes && packet.packetBytes <= packetLength.max)) &&
    isInPorts(rule.sourcePorts, packet.ports?.source) &&
    isInPorts(rule.destinationPorts, packet.ports?.destination) &&
    (tcpFlags === null || hasFlags(packet.tcpFlags, tcpFlags)) &&
    (destination === null || prefixContains(destination, packet.destination)) &&
    (source === null || prefixContains(source, packet.source))
  );
}

function isInPorts(ranges: readonly Range[], port: number | undefined): boolean {
  return ranges.length === 0 || (port !== undefined && isInRanges(ranges, port));
}

function hasFlags(flags: number | null, { set, unset }: { set: number; unset: number }): boolean {
  return flags !== null && (flags & set) === set && (flags & unset) === 0;
}

/** The match without the action: `dst 192.0.2.7/32 proto udp src-port 53`. Equal matches have equal texts. */
export function matchText(rule: Rule): string {
  const parts: string[] = [];
  const add = (name: string, value: string | null) => {
    if (value !== null) parts.push(name, value);
  };
  add("dst", rule.destination?.text ?? null);
  add("src", rule.source?.text ?? null);
  add("proto", rangesText(rule.protocols, protocolText));
  add("src-port", rangesText(rule.sourcePorts));
  add("dst-port", rangesText(rule.destinationPorts));
  add("tcp-flags", rule.tcpFlags === null ? null : flagsText(rule.tcpFlags));
  add("fragment", rule.fragment === null ? null : rule.fragment ? "yes" : "no");
  const length = rule.packetLength;
  add("length", length === null ? null : rangeText({ from: length.min, to: length.max }));
  return parts.length === 0 ? "any" : parts.join(" ");
}

/** `dst 192.0.2.7/32 proto udp src-port 53 discard`. */
export function ruleText(rule: Rule): string {
  return `${matchText(rule)} ${actionText(rule.action)}`;
}

/** All rules of one attack on one line. */
export function rulesText(rules: readonly Rule[]): string {
  return rules.map(ruleText).join("; ");
}

function actionText(action: RuleAction): string {
  return action.kind === "discard" ? "discard" : `rate-limit ${action.bytesPerSecond} bytes/s`;
}

export function isSameAction(a: RuleAction, b: RuleAction): boolean {
  return a.kind === b.kind && (a.kind === "discard" || b.kind === "discard" || a.bytesPerSecond === b.bytesPerSecond);
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

/**
 * The form in the API and in rule documents; absent matches anything. The fields after `action` and `rate_bytes` narrow
 * the rule further; agents of the first version do not know them.
 */
export interface RuleWire {
  readonly dst?: string;
  readonly src?: string;
  readonly proto?: number;
  readonly src_port?: number;
  readonly dst_port?: number;
  readonly tcp_flags?: number;
  readonly fragment?: boolean;
  readonly action: RuleAction["kind"];
  readonly rate_bytes?: number;
  /** Replaces `src_port` and `dst_port` if there are several, or for port 0, which would mean any port there. */
  readonly src_ports?: readonly Range[];
  readonly dst_ports?: readonly Range[];
  /** Flags that must be unset. */
  readonly tcp_flags_unset?: number;
  readonly packet_length?: { readonly min: number; readonly max: number };
  /** Replaces `proto` if there are several, or for protocol 0. */
  readonly protos?: readonly Range[];
}

export function ruleToWire(rule: Rule): RuleWire {
  const { destination, source, tcpFlags, fragment, packetLength, action } = rule;
  // Zero would mean anything there.
  const proto = onlyValue(rule.protocols) || null;
  const from = onlyValue(rule.sourcePorts) || null;
  const to = onlyValue(rule.destinationPorts) || null;
  return {
    ...(destination === null ? {} : { dst: destination.text }),
    ...(source === null ? {} : { src: source.text }),
    ...(proto === null ? {} : { proto }),
    ...(from === null ? {} : { src_port: from }),
    ...(to === null ? {} : { dst_port: to }),
    ...(tcpFlags === null ? {} : { tcp_flags: tcpFlags.set }),
    ...(fragment === null ? {} : { fragment }),
    ...(rule.sourcePorts.length === 0 || from !== null ? {} : { src_ports: rule.sourcePorts }),
    ...(rule.destinationPorts.length === 0 || to !== null ? {} : { dst_ports: rule.destinationPorts }),
    ...(tcpFlags === null || tcpFlags.unset === 0 ? {} : { tcp_flags_unset: tcpFlags.unset }),
    ...(packetLength === null ? {} : { packet_length: packetLength }),
    ...(rule.protocols.length === 0 || proto !== null ? {} : { protos: rule.protocols }),
    action: action.kind,
    ...(action.kind === "discard" ? {} : { rate_bytes: action.bytesPerSecond }),
  };
}

/** A rule that matches every packet. */
export const ANY_PACKET: Rule = {
  destination: null,
  source: null,
  protocols: [],
  sourcePorts: [],
  destinationPorts: [],
  tcpFlags: null,
  fragment: null,
  packetLength: null,
  action: { kind: "discard" },
};

/** A rule that matches every packet to a destination, as a start for narrowing. */
export function wideRule(destination: Prefix, action: RuleAction): Rule {
  return { ...ANY_PACKET, destination, action };
}

/** Whether only the destination is matched. */
export function matchesOnlyDestination(rule: Rule): boolean {
  return matchText({ ...rule, destination: null }) === "any";
}
