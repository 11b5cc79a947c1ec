/**
 * How an operator writes a rule for the data plane: in `filter_rules` of the service and of a scrub node, and in a
 * command to the API. The state database keeps it in the same form.
 */
import { type Static, Type } from "@sinclair/typebox";
import { FILTER_RULE_DESTINATIONS_MAX, PREFIX_SETS_MAX } from "../../limits.ts";
import { LENGTH_RANGES_MAX, PATTERNS_MAX, PAYLOAD_BYTES_MAX } from "../../native/constants.ts";
import { exactly, type Range } from "../../net/range.ts";
import { boolean, closedObject, described, integer, list, oneOf, text } from "../../schema/schema-forms.ts";
import { takeShape } from "../../schema/shape.ts";
import { parseAddressOrPrefix, parseHexBytes, parsePortRange, parseRange } from "../../schema/text-forms.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import { type Match, type PayloadPattern, RANGES_MAX } from "../rules/match.ts";
import type { OperatorRule } from "./operator-rule.ts";

const PROTOCOLS = ["tcp", "udp", "sctp", "icmp", "icmpv6", "gre", "esp", "ah", "ipip", "ipv6", "igmp", "ospf"] as const;
const FLAGS = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"] as const;

/** Kinds of TCP options (IANA, TCP Option Kind Numbers). */
const OPTION_KINDS = {
  mss: 2,
  window_scale: 3,
  sack_permitted: 4,
  sack: 5,
  timestamps: 8,
  md5: 19,
  user_timeout: 28,
  authentication: 29,
  multipath: 30,
  fast_open: 34,
} as const;
type OptionName = keyof typeof OPTION_KINDS;
const OPTION_NAMES = Object.keys(OPTION_KINDS) as [OptionName, ...OptionName[]];

/**
 * How handshakes begin. A ClientHello is the first handshake message of a TLS record (RFC 8446, sections 4 and 5.1);
 * a QUIC Initial has the long header with its type and version (RFC 9000, section 17.2.2; RFC 9369, section 3.2).
 */
const HANDSHAKES: Readonly<Record<"tls" | "quic", readonly PayloadPattern[]>> = {
  tls: [pattern(0, "160300000001", "ffff000000ff")],
  quic: [pattern(0, "c000000001", "f0ffffffff"), pattern(0, "d06b3343cf", "f0ffffffff")],
};
const HANDSHAKE_PROTOCOL = { tls: IP_PROTOCOL.tcp, quic: IP_PROTOCOL.udp } as const;

const flags = (description: string) => described(list(oneOf(...FLAGS), FLAGS.length), description);
const options = (description: string) => described(list(oneOf(...OPTION_NAMES), OPTION_NAMES.length), description);
const rate = (description: string) => described(Type.Optional(Type.Number({ minimum: 0, maximum: 1e9 })), description);

export const FilterRuleFile = closedObject({
  name: described(text("ruleName"), "The name of the rule, unique among all of them."),
  action: described(
    oneOf("drop", "pass", "limit"),
    "The action for packets that match: `drop` them; let them `pass`, whatever the rules that follow and those of bans say; or `limit` them to a rate: the rules that follow decide about packets within it.",
  ),
  when: described(
    Type.Optional(oneOf("always", "attacked")),
    "`attacked` tries the rule only for addresses with a ban in force.",
    { valueIfAbsent: "always" },
  ),
  destinations: described(
    list(text("addressOrPrefix"), FILTER_RULE_DESTINATIONS_MAX),
    "The destinations that it is for, within `networks` (on a scrub node `bounds.networks`). An empty list is all of these.",
  ),
  source: described(Type.Optional(text("addressOrPrefix")), "The prefix that the source lies in."),
  source_sets: described(
    list(text("setName"), PREFIX_SETS_MAX),
    "Sets of `prefix_sets`, in one of which the source lies.",
  ),
  not_source_sets: described(
    list(text("setName"), PREFIX_SETS_MAX),
    "Sets of `prefix_sets`, in none of which the source lies.",
  ),
  protocol: described(Type.Optional(oneOf(...PROTOCOLS)), "The protocol over IP."),
  ports: described(
    list(text("portRange"), RANGES_MAX),
    "Destination ports, each as `443` or `27000-27050`. An empty list is any port.",
  ),
  source_ports: described(list(text("portRange"), RANGES_MAX), "Source ports. An empty list is any port."),
  tcp_flags: described(
    Type.Optional(closedObject({ set: flags("Flags that are set."), unset: flags("Flags that are not set.") })),
    "Flags of TCP.",
  ),
  fragment: described(Type.Optional(Type.Boolean()), "Whether the packet is a fragment."),
  packet_lengths: described(
    list(text("range65535"), LENGTH_RANGES_MAX),
    "Lengths of the IP packet with its headers, in bytes, each as `468` or `1200-1500`.",
  ),
  ttl: described(Type.Optional(text("range255")), "The TTL, or the hop limit of IPv6, as `1-5`."),
  dscp: described(list(integer(0, 63), 64), "Code points of differentiated services."),
  tcp_window: described(
    Type.Optional(text("range65535")),
    "The window of TCP as the header has it, without its scale.",
  ),
  tcp_options: described(
    Type.Optional(
      closedObject({ set: options("Options that the segment has."), unset: options("Options that it does not have.") }),
    ),
    "Options of TCP.",
  ),
  payload: described(
    list(
      closedObject({
        offset: described(integer(0, PAYLOAD_BYTES_MAX - 1, 0), "Where the bytes begin, from the payload's start."),
        bytes: described(text("hexBytes"), "The bytes as hexadecimal digits, such as `ffffffff 54`."),
        mask: described(Type.Optional(text("hexBytes")), "The bits of `bytes` that are compared, with as many bytes.", {
          ifAbsent: "all bits",
        }),
      }),
      PATTERNS_MAX,
    ),
    `Bytes of the payload, which begins after the headers of TCP or UDP; of other protocols after the IP header. The first ${PAYLOAD_BYTES_MAX} bytes can be matched. If there are several patterns, one must match.`,
  ),
  handshake: described(
    Type.Optional(oneOf("tls", "quic")),
    "The packet begins a handshake: a ClientHello of TLS over TCP, or an Initial of QUIC over UDP.",
  ),
  packets_per_second: rate("With `limit`, the packets that may pass in a second."),
  mbps: rate("With `limit`, the megabits that may pass in a second."),
  per: described(
    Type.Optional(oneOf("all", "source")),
    "With `limit`, whether the rate is for all packets that match together, or for each source; a source that sends 20 times as much is dropped entirely.",
    { valueIfAbsent: "all" },
  ),
  source_ipv4_length: described(
    Type.Optional(integer(8, 32)),
    "With `per: source`, how much of an IPv4 address is one source.",
    { valueIfAbsent: 32 },
  ),
  source_ipv6_length: described(Type.Optional(integer(16, 128)), "The same for an IPv6 address.", {
    valueIfAbsent: 64,
  }),
  dry_run: described(boolean(false), "Whether the effect of the rule is only counted."),
});
export type FilterRuleFile = Static<typeof FilterRuleFile>;

/** A rule as it was kept; null: this build does not understand it. */
export function readFilterRule(kept: object): OperatorRule | null {
  const { file, findings } = takeShape(FilterRuleFile, structuredClone(kept));
  return findings.length > 0 ? null : buildFilterRule(file as FilterRuleFile);
}

/** @param file without findings. */
export function buildFilterRule(file: FilterRuleFile): OperatorRule {
  const { action, when = "always", dry_run: isDryRun } = file;
  return {
    name: file.name,
    action,
    when,
    isDryRun,
    destinations: file.destinations.map(parseAddressOrPrefix).filter((prefix) => prefix !== null),
    match: matchOf(file),
    limit: action === "limit" ? limitOf(file) : null,
  };
}

function protocolOf({ protocol, handshake }: FilterRuleFile): number | null {
  if (protocol !== undefined) return IP_PROTOCOL[protocol];
  return handshake === undefined ? null : HANDSHAKE_PROTOCOL[handshake];
}

function matchOf(file: FilterRuleFile): Match {
  const { tcp_flags: tcpFlags, tcp_options: tcpOptions, handshake } = file;
  const protocol = protocolOf(file);
  const range = (given: string | undefined) => (given === undefined ? null : parseRange(given));
  const kinds = (names: readonly OptionName[]) => names.map((name) => OPTION_KINDS[name]);
  return {
    // Its destinations are the rule's.
    destination: null,
    source: file.source === undefined ? null : parseAddressOrPrefix(file.source),
    protocols: protocol === null ? [] : exactly(protocol),
    sourcePorts: file.source_ports.map(parsePortRange).filter((range) => range !== null),
    destinationPorts: file.ports.map(parsePortRange).filter((range) => range !== null),
    tcpFlags: tcpFlags === undefined ? null : { set: flagBits(tcpFlags.set), unset: flagBits(tcpFlags.unset) },
    fragment: file.fragment ?? null,
    packetLengths: file.packet_lengths.map(parseRange).filter((one): one is Range => one !== null),
    ttl: range(file.ttl),
    dscp: file.dscp,
    tcpWindow: range(file.tcp_window),
    tcpOptions: tcpOptions === undefined ? null : { set: kinds(tcpOptions.set), unset: kinds(tcpOptions.unset) },
    payload: handshake === undefined ? file.payload.map(patternOf) : HANDSHAKES[handshake],
    inSets: file.source_sets,
    notInSets: file.not_source_sets,
  };
}

function patternOf({ offset, bytes, mask }: FilterRuleFile["payload"][number]): PayloadPattern {
  const value = parseHexBytes(bytes) ?? [];
  const bits = (mask === undefined ? null : parseHexBytes(mask)) ?? value.map(() => 0xff);
  return { offset, mask: bits, value: value.map((byte, i) => byte & (bits[i] ?? 0)) };
}

function pattern(offset: number, value: string, mask: string): PayloadPattern {
  const bytes = (digits: string) => [...Buffer.from(digits, "hex")];
  return { offset, value: bytes(value), mask: bytes(mask) };
}

function flagBits(names: readonly (typeof FLAGS)[number][]): number {
  return names.reduce((bits, name) => bits | (1 << FLAGS.indexOf(name)), 0);
}

/** A megabit is 10^6 bits, as in all rates. */
function limitOf(file: FilterRuleFile): NonNullable<OperatorRule["limit"]> {
  return {
    packetsPerSecond: file.packets_per_second ?? 0,
    bytesPerSecond: ((file.mbps ?? 0) * 1e6) / 8,
    isPerSource: file.per === "source",
    ipv4Length: file.source_ipv4_length ?? 32,
    ipv6Length: file.source_ipv6_length ?? 64,
  };
}
