/**
 * Traffic that users of any host may send, for a host whose own traffic before the attack is not known: classes of
 * packets with the share of all traffic that each may have, and packets of common services that rules should not match.
 * Pure.
 */
import { addressFamily } from "../../net/address.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { vectorOf } from "./classifier.ts";
import type { SampledPacket } from "./sample.ts";

const FLAGS = { fin: 0x01, syn: 0x02, rst: 0x04, psh: 0x08, ack: 0x10, urg: 0x20 } as const;
const PORT = { dns: 53, ntp: 123, https: 443, http: 80 } as const;
/** An answer without extensions of DNS has at most 512 bytes (RFC 1035); larger ones are mostly amplified. */
const DNS_BYTES_MAX = 560;
/** An NTP answer without control data (RFC 5905), with its IP header, IPv4 and IPv6. */
const NTP_BYTES_MAX = 96;
/** Operating systems send options with a SYN, floods mostly none or one. */
const SYN_OPTIONS_BYTES_MIN = 8;
const TCP_BYTES = 20;

type PacketClass = string;

/** The share of a host's traffic that each class may have; classes that are not listed: OTHER_SHARE. */
const ORDINARY_SHARES: Readonly<Record<PacketClass, number>> = {
  ack: 0.55,
  data: 0.55,
  quic_flood: 0.5,
  // Tunnels and calls of users come from these ports too.
  "ike-nat-t_amplification": 0.5,
  openvpn_amplification: 0.2,
  stun_amplification: 0.2,
  sip_amplification: 0.2,
  udp_flood: 0.2,
  syn: 0.15,
  dns: 0.15,
  icmp_flood: 0.05,
  ntp: 0.05,
  rst_flood: 0.05,
  syn_ack_flood: 0.05,
  fragment_flood: 0.05,
};
const OTHER_SHARE = 0.01;

/** Protocols of users' tunnels and of associations: IPv6 in IP, ESP, AH, SCTP. */
const TUNNELS: ReadonlySet<number> = new Set([41, 50, 51, 132]);

/** Fewer packets of a class, or a smaller share of the traffic, may be chance. */
const CLASS_PACKETS_MIN = 3;
const CLASS_SHARE_MIN = 0.002;

/** A class that exceeds its share by this factor is unusual, however small it is. */
const UNUSUAL_FACTOR = 2;
const UDP_CLASSES: readonly PacketClass[] = ["quic_flood", "udp_flood", "dns", "ntp"];
const MINORITY = 0.5;
/** Any other must be this part of the threshold: users were below the threshold before. */
const THRESHOLD_PART_MIN = 0.5;

/**
 * The classes that have more of the traffic than users send. @param shares by class, adding up to 1. @param
 * timesThreshold the rate divided by its threshold.
 */
export function unusualClasses(
  shares: ReadonlyMap<PacketClass, { readonly share: number; readonly packets: number }>,
  timesThreshold: number,
): ReadonlySet<PacketClass> {
  const unusual = new Set<PacketClass>();
  for (;;) {
    const rest = [...shares].filter(([name]) => !unusual.has(name));
    // The users' own part of an unusual class is not known: it is taken for what they send usually.
    const others = [...unusual].reduce((sum, name) => sum + (ORDINARY_SHARES[name] ?? 0), 0);
    const known = rest.reduce((sum, [, { share }]) => sum + share, 0);
    const total = others < 1 ? Math.min(1, known / (1 - others)) : 1;
    // A metric of UDP shows a small part of the users alone: its shares are not those of all their traffic.
    if (known < MINORITY && rest.every(([name]) => UDP_CLASSES.includes(name))) return unusual;
    const [most] = rest
      .filter(([, { share, packets }]) => packets >= CLASS_PACKETS_MIN && share >= CLASS_SHARE_MIN)
      .map(([name, { share, packets }]) => ({ name, share, times: timesOrdinary(name, share / total, packets) }))
      .filter(({ share, times }) => times > (share * timesThreshold >= THRESHOLD_PART_MIN ? 1 : UNUSUAL_FACTOR))
      .sort((a, b) => b.times - a.times);
    // One after the other: without the most unusual class, the others have a larger share of the rest.
    if (most === undefined) return unusual;
    unusual.add(most.name);
  }
}

/** How much more than users send. The share of a class that users send is taken as low as chance may make it. */
export function timesOrdinary(name: PacketClass, share: number, packets: number): number {
  const ordinary = ORDINARY_SHARES[name];
  if (ordinary === undefined) return share / OTHER_SHARE;
  return (share * (1 - 1 / Math.sqrt(packets))) / ordinary;
}

export function isOrdinaryClass(name: PacketClass): boolean {
  return ORDINARY_SHARES[name] !== undefined;
}

/** By packets: in bytes, a few long packets of users would be most of the traffic. */
export function classShares(
  packets: Iterable<Pick<SampledPacket, "header" | "standsFor">>,
): Map<PacketClass, { share: number; packets: number }> {
  const classes = new Map<PacketClass, { share: number; packets: number }>();
  let total = 0;
  for (const { header, standsFor } of packets) {
    const name = classOf(header);
    const known = classes.get(name) ?? { share: 0, packets: 0 };
    classes.set(name, { share: known.share + standsFor, packets: known.packets + 1 });
    total += standsFor;
  }
  for (const of of classes.values()) of.share /= total;
  return classes;
}

/** The kind of a packet, finer than its vector where users send one part of it. @param vector of the header. */
export function classOf(header: PacketHeader, vector = vectorOf(header)): PacketClass {
  switch (vector) {
    case null:
      return TUNNELS.has(header.protocol) ? `protocol ${header.protocol}` : "other protocols";
    case "dns_amplification":
      return header.fragment === null && header.packetBytes <= DNS_BYTES_MAX ? "dns" : vector;
    case "ntp_amplification":
      return header.packetBytes <= NTP_BYTES_MAX ? "ntp" : vector;
    case "syn_flood":
      return hasOptions(header) ? "syn" : "syn_without_options";
    case "ack_flood":
      return "ack";
    case "tcp_flood":
      return isSegment(header.tcpFlags ?? 0) ? "data" : "tcp_other";
    default:
      return vector;
  }
}

function hasOptions({ destination, packetBytes, tcpFlags }: PacketHeader): boolean {
  const ipBytes = addressFamily(destination) === 4 ? 20 : 40;
  return ((tcpFlags ?? 0) & FLAGS.urg) === 0 && packetBytes >= ipBytes + TCP_BYTES + SYN_OPTIONS_BYTES_MIN;
}

/** After the handshake every segment has ACK set (RFC 9293). */
function isSegment(flags: number): boolean {
  return (flags & FLAGS.ack) !== 0 && (flags & FLAGS.urg) === 0;
}

interface Service {
  readonly protocol: number;
  /** null: a client's port. Both null: a protocol without ports. */
  readonly source: number | null;
  readonly destination: number | null;
  readonly tcpFlags: number | null;
  /** Lengths of IPv4 packets. */
  readonly lengths: readonly number[];
}

const toServer = (destination: number, tcpFlags: number, lengths: readonly number[]): Service => {
  return { protocol: IP_PROTOCOL.tcp, source: null, destination, tcpFlags, lengths };
};
const WEB: readonly Service[] = [PORT.https, PORT.http].flatMap((port) => [
  toServer(port, FLAGS.syn, [52, 60, 64]),
  toServer(port, FLAGS.ack, [40, 52, 52, 64, 1500]),
  toServer(port, FLAGS.ack | FLAGS.psh, [85, 146, 214, 333, 569, 804, 1420, 1500]),
  toServer(port, FLAGS.ack | FLAGS.fin, [40, 52]),
  toServer(port, FLAGS.rst, [40]),
  toServer(port, FLAGS.ack | FLAGS.rst, [40]),
]);
const UDP = { protocol: IP_PROTOCOL.udp, source: null, destination: null, tcpFlags: null } as const;
const SERVICES: readonly Service[] = [
  ...WEB,
  { ...UDP, destination: PORT.https, lengths: [55, 61, 72, 90, 110, 1228, 1278] },
  { ...UDP, source: PORT.dns, lengths: [77, 93, 110, 124, 156, 180, 232, 290] },
  { ...UDP, source: PORT.ntp, lengths: [76] },
];
const PINGS = [60, 84, 84, 92];
const IPV6_LONGER_BYTES = 20;

/** Packets of common services to the host of this packet. */
export function ordinaryPackets(like: PacketHeader): PacketHeader[] {
  const isV6 = addressFamily(like.destination) === 6;
  const longer = isV6 ? IPV6_LONGER_BYTES : 0;
  const { source: from, destination: to } = like;
  const plain = { source: from, destination: to, ports: null, tcpFlags: null, fragment: null };
  const packets: PacketHeader[] = PINGS.map((length) => {
    return { ...plain, protocol: isV6 ? IP_PROTOCOL.icmpv6 : IP_PROTOCOL.icmp, packetBytes: length + longer };
  });
  for (const { protocol, source, destination, tcpFlags, lengths } of SERVICES) {
    for (const length of lengths) {
      const client = clientPort(packets.length);
      const ports = { source: source ?? client, destination: destination ?? client };
      packets.push({ ...plain, protocol, ports, tcpFlags, packetBytes: length + longer });
    }
  }
  return packets;
}

/** Far from each other, so that no rule is made from them (RFC 6056: 1024 to 65535). */
function clientPort(index: number): number {
  return 32_768 + ((index * 7919) % 28_000);
}
