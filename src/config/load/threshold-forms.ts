/** The schemas of threshold sets, for all sections that have them. */
import { Type } from "@sinclair/typebox";
import { closedObject, defaultedObject, described } from "../../schema/schema-forms.ts";

/** A threshold. The base trio cannot be off. */
const Limit = Type.Number({ exclusiveMinimum: 0 });
/** A threshold; 0 is off. */
const OptionalLimit = Type.Number({ minimum: 0 });
const MEANINGS = {
  pps: "Packets of any kind.",
  mbps: "Bits of any kind; a megabit is 10^6 bits.",
  flows_per_sec: "New flows.",
};
const BASE = {
  pps: described(Limit, MEANINGS.pps),
  mbps: described(Limit, MEANINGS.mbps),
  flows_per_sec: described(Limit, MEANINGS.flows_per_sec),
};
const optional = (meaning: string) => Type.Optional(described(OptionalLimit, `${meaning} 0 switches it off.`));
const OPTIONAL = {
  tcp_pps: optional("TCP packets."),
  tcp_mbps: optional("Bits in TCP packets."),
  udp_pps: optional("UDP packets."),
  udp_mbps: optional("Bits in UDP packets."),
  icmp_pps: optional("ICMP and ICMPv6 packets."),
  icmp_mbps: optional("Bits in ICMP and ICMPv6 packets."),
  tcp_syn_pps: optional("TCP packets with SYN set and ACK not set."),
  tcp_syn_mbps: optional("Bits in TCP packets with SYN set and ACK not set."),
  frag_pps: optional("Packets that are IP fragments."),
  frag_mbps: optional("Bits in packets that are IP fragments."),
};

/** Any of them; 0 is off. */
export const AnyThresholds = closedObject({
  pps: optional(MEANINGS.pps),
  mbps: optional(MEANINGS.mbps),
  flows_per_sec: optional(MEANINGS.flows_per_sec),
  ...OPTIONAL,
});

/** The base trio is required. */
export const AllThresholds = closedObject({ ...BASE, ...OPTIONAL });

/** Absent thresholds are inherited; the base trio cannot be switched off. */
export const SomeThresholds = Type.Partial(defaultedObject({ ...BASE, ...OPTIONAL }));
