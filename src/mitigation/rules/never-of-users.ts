/**
 * Packets that no user sends to any host, whatever its services are: known for certain before anything is known of the
 * host. Pure. Only of packets that come in.
 */
import { amplificationFrom, type Vector } from "../../detection/attack/vector.ts";
import { addressFamily } from "../../net/address.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";

/** These send to the ports of their clients, which a protected host may be. */
const ALSO_OF_SERVERS: ReadonlySet<Vector> = new Set([
  "dns_amplification",
  "ntp_amplification",
  "stun_amplification",
  "steam_amplification",
  "openvpn_amplification",
  "sip_amplification",
]);
/** With its IP header: at most 1,232 bytes of payload are requested since 2020 (dnsflagday.net), IPv4 and IPv6. */
const DNS_BYTES_MAX = { 4: 1260, 6: 1280 } as const;
/** An answer with network time security (RFC 8915) is shorter, one of a monitoring list is not. */
const NTP_BYTES_MAX = 340;

const FLAGS = { fin: 0x01, syn: 0x02, rst: 0x04, psh: 0x08, ack: 0x10, urg: 0x20, ece: 0x40, cwr: 0x80 } as const;
const CONGESTION = FLAGS.ece | FLAGS.cwr;
const TCP_BYTES = 20;

/** Protocols that hosts and routers use with hosts of other networks. */
const KNOWN_PROTOCOLS: ReadonlySet<number> = new Set([1, 2, 4, 6, 17, 33, 41, 47, 50, 51, 58, 89, 103, 112, 132, 136]);

export function isNeverOfUsers(header: PacketHeader): boolean {
  const { protocol, ports, tcpFlags } = header;
  if (!KNOWN_PROTOCOLS.has(protocol)) return true;
  if (ports === null) return false;
  if (ports.source === 0 || ports.destination === 0) return true;
  if (protocol === IP_PROTOCOL.udp) return isReflected(header, ports);
  return protocol === IP_PROTOCOL.tcp && tcpFlags !== null && isImpossible(tcpFlags, header);
}

/** Peers of such a service send from its port to its port. */
function isReflected({ destination, packetBytes, fragment }: PacketHeader, ports: NonNullable<PacketHeader["ports"]>) {
  const vector = amplificationFrom(ports.source);
  if (vector === null || ports.source === ports.destination) return false;
  if (!ALSO_OF_SERVERS.has(vector)) return true;
  if (vector === "dns_amplification")
    return fragment !== null || packetBytes > DNS_BYTES_MAX[addressFamily(destination)];
  return vector === "ntp_amplification" && packetBytes > NTP_BYTES_MAX;
}

/** Flags that no system combines (RFC 9293, 3.10.7; RFC 3168, 6.1), and a SYN without any option (RFC 9293, 3.7.1). */
function isImpossible(flags: number, { destination, packetBytes }: PacketHeader): boolean {
  const basic = flags & ~CONGESTION;
  const congestion = flags & CONGESTION;
  switch (basic) {
    case FLAGS.syn: {
      const ipBytes = addressFamily(destination) === 4 ? 20 : 40;
      return congestion === FLAGS.ece || congestion === FLAGS.cwr || packetBytes === ipBytes + TCP_BYTES;
    }
    case FLAGS.syn | FLAGS.ack:
      return (congestion & FLAGS.cwr) !== 0;
    case FLAGS.rst:
    case FLAGS.rst | FLAGS.ack:
      return congestion !== 0;
    case FLAGS.ack:
    case FLAGS.ack | FLAGS.psh:
    case FLAGS.ack | FLAGS.fin:
    case FLAGS.ack | FLAGS.fin | FLAGS.psh:
      return false;
    default:
      return true;
  }
}
