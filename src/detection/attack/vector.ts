/**
 * The vectors by their names in the interface (docs/interface.md#classification-type), and the services that amplify.
 */

/** UDP services that answer a small request with a large response, by source port. */
export const AMPLIFIERS = {
  dns: 53,
  ntp: 123,
  cldap: 389,
  memcached: 11211,
  ssdp: 1900,
  chargen: 19,
  snmp: 161,
  mdns: 5353,
  wsd: 3702,
  coap: 5683,
  qotd: 17,
  tftp: 69,
  portmap: 111,
  netbios: 137,
  rip: 520,
  sip: 5060,
  steam: 27015,
  arms: 3283,
  "dvr-dhcp": 37810,
  plex: 32414,
  openvpn: 1194,
  bacnet: 47808,
  ike: 500,
  "ike-nat-t": 4500,
  rdp: 3389,
  stun: 3478,
  jenkins: 33848,
  mssql: 1434,
  citrix: 1604,
  lantronix: 30718,
  vxworks: 17185,
  slp: 427,
  ipmi: 623,
  l2tp: 1701,
  sentinel: 5093,
  ubiquiti: 10001,
  crestron: 41794,
} as const;

type Amplification = `${keyof typeof AMPLIFIERS}_amplification`;

const OTHERS = [
  "syn_flood",
  "fragment_flood",
  "icmp_flood",
  "gre_flood",
  "syn_ack_flood",
  "ack_flood",
  "rst_flood",
  "quic_flood",
  "udp_flood",
  "tcp_flood",
  "mixed",
] as const;

export type Vector = Amplification | (typeof OTHERS)[number];

const BY_PORT = new Map<number, Amplification>(
  Object.entries(AMPLIFIERS).map(([service, port]) => [port, `${service}_amplification` as Amplification]),
);

export const VECTORS: readonly Vector[] = [...BY_PORT.values(), ...OTHERS];

/** null: no known amplifier uses this port. */
export function amplificationFrom(port: number): Amplification | null {
  return BY_PORT.get(port) ?? null;
}

const PORTS = new Map<Vector, number>([...BY_PORT].map(([port, vector]) => [vector, port]));

/** The source port of an amplification; null for other vectors. */
export function reflectedPort(vector: Vector): number | null {
  return PORTS.get(vector) ?? null;
}
