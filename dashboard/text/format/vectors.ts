/** The kinds of attacks in words (docs/interface.md#classification-type). Pure. */
import type { Vector } from "../../../src/detection/attack/vector.ts";
import { t } from "../../language.ts";

const OTHERS: Readonly<Record<Exclude<Vector, `${string}_amplification`>, string>> = {
  syn_flood: t`SYN flood`,
  syn_ack_flood: t`SYN ACK flood`,
  ack_flood: t`ACK flood`,
  rst_flood: t`RST flood`,
  tcp_flood: t`TCP flood`,
  udp_flood: t`UDP flood`,
  icmp_flood: t`ICMP flood`,
  gre_flood: t`GRE flood`,
  quic_flood: t`QUIC flood`,
  fragment_flood: t`Fragment flood`,
  mixed: t`Mixed`,
};

/** Names that are no abbreviations. */
const SERVICES: Readonly<Record<string, string>> = {
  memcached: "Memcached",
  mdns: "mDNS",
  coap: "CoAP",
  portmap: "Portmap",
  netbios: "NetBIOS",
  steam: "Steam",
  plex: "Plex",
  openvpn: "OpenVPN",
  bacnet: "BACnet",
  "ike-nat-t": "IKE NAT-T",
  jenkins: "Jenkins",
  citrix: "Citrix",
  lantronix: "Lantronix",
  vxworks: "VxWorks",
  sentinel: "Sentinel",
  ubiquiti: "Ubiquiti",
  crestron: "Crestron",
};

/** `dns_amplification` is `DNS amplification`, `syn_flood` is `SYN flood`: as at the begin of a sentence. */
export function vectorName(vector: string): string {
  if (isOther(vector)) return OTHERS[vector];
  const service = vector.replace(/_amplification$/, "");
  return t`${SERVICES[service] ?? service.toUpperCase()} amplification`;
}

function isOther(vector: string): vector is keyof typeof OTHERS {
  return Object.hasOwn(OTHERS, vector);
}
