/** The schema of rates (docs/interface.md#rates); the conversion is `ratesToWire`, which the traffic owns. */
import { Type } from "@sinclair/typebox";

const optionalRate = Type.Optional(Type.Number());

export const RatesWire = Type.Object(
  {
    pps: Type.Number(),
    mbps: Type.Number(),
    flows_per_sec: Type.Number(),
    tcp_pps: optionalRate,
    tcp_mbps: optionalRate,
    udp_pps: optionalRate,
    udp_mbps: optionalRate,
    icmp_pps: optionalRate,
    icmp_mbps: optionalRate,
    tcp_syn_pps: optionalRate,
    tcp_syn_mbps: optionalRate,
    frag_pps: optionalRate,
    frag_mbps: optionalRate,
  },
  { additionalProperties: false },
);
