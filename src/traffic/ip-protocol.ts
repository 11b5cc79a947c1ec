/** Names of IP protocols (IANA, Assigned Internet Protocol Numbers). */

export const IP_PROTOCOL = {
  icmp: 1,
  igmp: 2,
  ipip: 4,
  tcp: 6,
  udp: 17,
  dccp: 33,
  ipv6: 41,
  gre: 47,
  esp: 50,
  ah: 51,
  icmpv6: 58,
  ospf: 89,
  pim: 103,
  vrrp: 112,
  l2tp: 115,
  sctp: 132,
  udplite: 136,
} as const;

const NAMES = new Map<number, string>(Object.entries(IP_PROTOCOL).map(([name, number]) => [number, name]));

/** `tcp`, `udp`, …; the number if it has no common name. */
export function protocolName(protocol: number): string {
  return NAMES.get(protocol) ?? String(protocol);
}
