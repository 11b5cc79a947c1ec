/** The rule fields that distinguish each vector's packets: the generator starts from these. */
import { reflectedPort, type Vector } from "../../detection/attack/vector.ts";
import { exactly } from "../../net/range.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { Rule } from "./rule.ts";

type Signature = Partial<Pick<Rule, "protocols" | "sourcePorts" | "destinationPorts" | "tcpFlags" | "fragment">>;

interface VectorRules {
  /** Together they catch the vector's packets. */
  readonly signatures: readonly Signature[];
  /** Normal traffic has these fields too: the packets that match are not all part of the attack. */
  readonly isWide: boolean;
}

const FLAGS = { fin: 0x01, syn: 0x02, rst: 0x04, psh: 0x08, ack: 0x10 } as const;
const TCP = exactly(IP_PROTOCOL.tcp);
const UDP = exactly(IP_PROTOCOL.udp);
const QUIC = exactly(443);

const tcp = (set: number, unset: number): Signature => ({ protocols: TCP, tcpFlags: { set, unset } });
const narrow = (...signatures: readonly Signature[]): VectorRules => ({ signatures, isWide: false });
const wide = (...signatures: readonly Signature[]): VectorRules => ({ signatures, isWide: true });

/** The later fragments of a datagram show no ports. */
const UDP_FRAGMENTS: Signature = { protocols: UDP, fragment: true };

export function vectorRules(vector: Vector, family: 4 | 6): VectorRules {
  const port = reflectedPort(vector);
  if (port !== null) {
    return narrow({ protocols: UDP, sourcePorts: exactly(port) }, UDP_FRAGMENTS);
  }
  switch (vector) {
    case "syn_flood":
      return wide(tcp(FLAGS.syn, FLAGS.ack));
    case "syn_ack_flood":
      return narrow(tcp(FLAGS.syn | FLAGS.ack, 0));
    case "rst_flood":
      return narrow(tcp(FLAGS.rst, FLAGS.syn));
    case "ack_flood":
      return wide(tcp(FLAGS.ack, FLAGS.fin | FLAGS.syn | FLAGS.rst | FLAGS.psh));
    case "tcp_flood":
      return wide({ protocols: TCP });
    case "icmp_flood":
      return wide({ protocols: exactly(family === 4 ? IP_PROTOCOL.icmp : IP_PROTOCOL.icmpv6) });
    case "gre_flood":
      return narrow({ protocols: exactly(IP_PROTOCOL.gre) });
    case "fragment_flood":
      return narrow({ fragment: true });
    case "quic_flood":
      return wide({ protocols: UDP, destinationPorts: QUIC }, { protocols: UDP, sourcePorts: QUIC });
    case "udp_flood":
      return wide({ protocols: UDP });
    default:
      // `mixed` and other vectors without a signature.
      return wide();
  }
}
