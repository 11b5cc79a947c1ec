/**
 * Finds the rules of made-up attacks, so that the code is compiled before the first attack comes: until then an attack
 * takes several times as long. Its rules are of no use.
 */
import { classify } from "../detection/attack/classifier.ts";
import type { PacketMessage } from "../detection/attack/packet-columns.ts";
import { type CountedAttack, SampledAttack } from "../detection/attack/sampled-attack.ts";
import { seededDraws } from "../detection/attack/seeded-draws.ts";
import { attackRules } from "../mitigation/rules/attack-rules.ts";
import { HEADER_BITS, SAMPLE_RECORD } from "../native/constants.ts";
import { parsePrefix } from "../net/prefix.ts";
import { HEADER_RECORD_BYTES } from "../traffic/header-record.ts";
import { IP_PROTOCOL } from "../traffic/ip-protocol.ts";
import { METRICS } from "../traffic/rates.ts";

/** After about this many attacks of each kind, further ones take hardly less time: the compiler is done. */
const ROUNDS = 100;
const PACKETS = 64;
/** One packet in this number is of users. */
const USERS_EVERY = 7;
/** For documentation (RFC 5737). */
const VICTIM = "192.0.2.1/32";
const FLOWSPEC = { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration: 0.8 } as const;
const RATES = METRICS.map((metric) => (metric === "pps" ? 1000 : 0));
const COUNTED: CountedAttack = {
  ...({ direction: "incoming", metric: "pps", threshold: 250, classification: null } as const),
  ...{ rates: RATES, thresholds: RATES.map((rate) => rate / 4) },
};

/** null: drawn for each packet. */
type Packet = readonly [
  ...[protocol: number, from: number | null, to: number | null],
  ...[bytes: number | null, flags: number],
];

const { tcp, udp, icmp } = IP_PROTOCOL;
const ATTACKS: readonly Packet[] = [
  ...([
    [udp, 53, null, 1200, 0],
    [udp, 123, null, 468, 0],
    [udp, 40_000, 27_015, null, 0],
  ] as const),
  ...([
    [udp, null, 443, 1278, 0],
    [tcp, null, 443, 40, 0x02],
    [tcp, null, 443, 40, 0x10],
  ] as const),
  ...([
    [tcp, null, 443, null, 0x18],
    [icmp, 0, 0, 1028, 0],
    [udp, null, null, null, 0],
  ] as const),
];
/** Users of several services, each round those of one. */
const USERS: readonly (readonly Packet[])[] = [
  [
    [tcp, null, 443, 60, 0x02],
    [tcp, null, 443, 52, 0x10],
    [tcp, null, 443, null, 0x18],
    [tcp, null, 80, 52, 0x11],
    [udp, 53, null, null, 0],
    [udp, null, 443, null, 0],
  ],
  [
    [udp, null, 27_015, null, 0],
    [udp, null, 30_120, null, 0],
    [udp, 5060, 5060, null, 0],
    [udp, null, 10_000, 200, 0],
    [tcp, null, 443, 52, 0x10],
  ],
  [
    [udp, null, 53, null, 0],
    [tcp, null, 53, 60, 0x02],
    [tcp, null, 25, null, 0x18],
    [tcp, null, 25, 52, 0x10],
    [tcp, 443, null, 52, 0x10],
  ],
];

type Draw = (below: number) => number;

/** One round at a time. */
export function* rehearsals(rounds = ROUNDS): Generator<void> {
  const random = seededDraws(0, "rehearsal");
  const draw: Draw = (below) => Math.floor(random() * below);
  const prefix = parsePrefix(VICTIM);
  for (let round = 0; round < rounds && prefix !== null; round++) {
    const users = USERS[round % USERS.length] as readonly Packet[];
    const user = () => users[draw(users.length)] as Packet;
    for (const kind of ATTACKS) {
      const packets = recorded((i) => (i % USERS_EVERY === 0 ? user() : kind), draw);
      const profile = round % 2 === 0 ? null : ({ kind: "sampled", packets: recorded(user, draw), rate: 250 } as const);
      const seen = SampledAttack.of({ attack: COUNTED, packets, profile });
      const classification = classify(seen.packets, { gate: 0.5, unit: "packets", timesThreshold: 4, held: null });
      const known = SampledAttack.of({ attack: { ...COUNTED, classification }, packets, profile });
      const { rules } = attackRules(prefix, [known], FLOWSPEC, []);
      attackRules(prefix, [known], FLOWSPEC, rules);
    }
    yield;
  }
}

const ETHERNET_BYTES = 14;
/** Bounds of a length that is drawn. */
const BYTES_MIN = 60;
const BYTES_DRAWN = 1400;

/** IPv4 packets to the victim, as the packet counter hands them over: without their frames, which nothing reads here. */
function recorded(packetOf: (index: number) => Packet, draw: Draw): PacketMessage {
  const records = new Uint8Array(PACKETS * HEADER_RECORD_BYTES);
  const view = new DataView(records.buffer);
  const port = () => 1024 + draw(60_000);
  for (let i = 0; i < PACKETS; i++) {
    const [protocol, from, to, length, flags] = packetOf(i);
    const bytes = length ?? BYTES_MIN + draw(BYTES_DRAWN);
    const at = i * HEADER_RECORD_BYTES;
    const hasPorts = protocol === tcp || protocol === udp;
    view.setUint32(at + SAMPLE_RECORD.wireBytes, ETHERNET_BYTES + bytes, true);
    view.setUint8(at + SAMPLE_RECORD.protocol, protocol);
    view.setUint8(at + SAMPLE_RECORD.tcpFlags, flags);
    view.setUint8(
      at + SAMPLE_RECORD.headerBits,
      (hasPorts ? HEADER_BITS.ports : 0) | (protocol === tcp ? HEADER_BITS.tcpFlags : 0),
    );
    view.setUint16(at + SAMPLE_RECORD.packetBytes, bytes, true);
    view.setUint16(at + SAMPLE_RECORD.sourcePort, from ?? port(), true);
    view.setUint16(at + SAMPLE_RECORD.destinationPort, to ?? port(), true);
    setAddress(view, at + SAMPLE_RECORD.source, 0xc6336400 + draw(256));
    setAddress(view, at + SAMPLE_RECORD.destination, 0xc0000201);
  }
  return { records, standsFor: new Float64Array(PACKETS).fill(1) };
}

/** An IPv4 address in its mapped form. */
function setAddress(view: DataView, at: number, address: number): void {
  view.setUint16(at + 10, 0xffff);
  view.setUint32(at + 12, address);
}
