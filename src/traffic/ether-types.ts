/** The Ethernet types of frames that are not IP, as people know them. */

/** By the names that the packet counter has for types. LLC: destination service access points. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["0x0806", "ARP"],
  ["0x8035", "RARP"],
  ["0x8808", "pause"],
  ["0x8809", "LACP"],
  ["0x8847", "MPLS"],
  ["0x8848", "MPLS"],
  ["0x8863", "PPPoE discovery"],
  ["0x8864", "PPPoE"],
  ["0x888e", "EAPOL"],
  ["0x88cc", "LLDP"],
  ["0x88e5", "MACsec"],
  ["0x88f7", "PTP"],
  ["0x8902", "CFM"],
  ["0x8906", "FCoE"],
  ["0x8914", "FCoE"],
  ["0x88e7", "PBB"],
  ["0x8909", "Cisco metadata"],
  ["0xd28b", "Arista"],
  ["llc_0x42", "STP"],
  ["llc_0xaa", "SNAP"],
  ["llc_0xfe", "IS-IS"],
]);

/** @returns for example "ARP 0x0806: 12, LLDP 0x88cc: 3, other: 1": the most frequent first, empty without any. */
export function etherTypesText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([type, count]) => `${NAMES.has(type) ? `${NAMES.get(type)} ` : ""}${type}: ${count}`)
    .join(", ");
}
