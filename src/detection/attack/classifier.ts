/**
 * Classifies an attack by the headers of its packets (docs/interface.md#classification). Each packet shows one vector;
 * a vector with enough of the traffic names the attack. Pure.
 */
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import type { SampledPacket } from "./sample.ts";
import { amplificationFrom, reflectedPort, VECTORS, type Vector } from "./vector.ts";

export interface Classification {
  readonly type: Vector;
  /** Share of the attack's traffic with this vector, 0 to 1; for `mixed`, the largest part's. */
  readonly confidence: number;
  /** The source port of an amplification. */
  readonly sourcePort: number | null;
  /** The vectors that alone would be attacks, most traffic first; several in a multi-vector attack. */
  readonly parts: readonly VectorPart[];
}

interface VectorPart {
  readonly type: Vector;
  readonly share: number;
  readonly sourcePort: number | null;
}

export interface ClassifierOptions {
  /** The share that a vector needs to name the attack. */
  readonly gate: number;
  /** The unit of the threshold that the attack exceeds. */
  readonly unit: TrafficUnit;
  /** The attack's rate divided by its threshold. */
  readonly timesThreshold: number;
  /** The previous classification, whose vectors need a lower share to be kept. null: none. */
  readonly held: Classification | null;
}

export type TrafficUnit = "packets" | "bytes" | "flows";

/** A vector below this share is noise. */
const PART_MIN = 0.1;
/** If no vector reaches the gate, vectors count too with this part of the largest one's share. */
const NEAR_LARGEST = 2 / 3;
/** How far a vector may fall below the gate, and a part below its minimum, before it is dropped. */
const GATE_SLACK = 0.1;
const PART_SLACK = 0.7;
/** Later fragments of a datagram of 65,535 bytes at an MTU of 1500. */
const LATER_FRAGMENTS_MAX = 44;

const TCP = { syn: 2, rst: 4, psh: 8, ack: 16, fin: 1 } as const;
const QUIC_PORT = 443;

/** null: no packets. */
export function classify(packets: readonly SampledPacket[], options: ClassifierOptions): Classification | null {
  const { total, byVector } = trafficOf(packets, options.unit);
  if (total === 0) return null;
  const share = (amount: number) => Math.round((amount / total) * 1e4) / 1e4;
  const shares = [...byVector].map(([type, amount]) => ({ type, share: share(amount), ...portOf(type) }));
  shares.sort((a, b) => b.share - a.share);
  const order = shares.toSorted((a, b) => VECTORS.indexOf(a.type) - VECTORS.indexOf(b.type));
  const dominant = order.find((part) => part.share >= gateOf(part.type, options));
  if (dominant !== undefined) {
    const parts = shares.filter((part) => part === dominant || part.share >= minimumShareOf(part.type, 1, options));
    return { type: dominant.type, confidence: dominant.share, sourcePort: dominant.sourcePort, parts };
  }
  const largest = shares[0]?.share ?? 0;
  const parts = shares.filter((part) => part.share >= minimumShareOf(part.type, NEAR_LARGEST * largest, options));
  const protocol = PROTOCOLS.find(({ type, vectors }) => sumOf(parts, vectors) >= gateOf(type, options));
  if (protocol === undefined) return { type: "mixed", confidence: largest, sourcePort: null, parts };
  return { type: protocol.type, confidence: sumOf(shares, protocol.vectors), sourcePort: null, parts };
}

export const TCP_FLOODS = [
  "tcp_flood",
  "syn_flood",
  "syn_ack_flood",
  "ack_flood",
  "rst_flood",
] as const satisfies readonly Vector[];

/** An attack by several vectors of one protocol is named after the protocol. */
const PROTOCOLS: readonly { readonly type: Vector; readonly vectors: readonly Vector[] }[] = [
  {
    type: "udp_flood",
    vectors: ["udp_flood", "quic_flood", ...VECTORS.filter((type) => reflectedPort(type) !== null)],
  },
  { type: "tcp_flood", vectors: TCP_FLOODS },
];

function sumOf(parts: readonly VectorPart[], vectors: readonly Vector[]): number {
  const own = parts.filter(({ type }) => vectors.includes(type));
  return Math.round(own.reduce((sum, { share }) => sum + share, 0) * 1e4) / 1e4;
}

function gateOf(type: Vector, { gate, held }: ClassifierOptions): number {
  return held?.type === type ? gate - GATE_SLACK : gate;
}

/** Whether two classifications are equal apart from confidence and shares, which always vary. */
export function isSameKind(a: Classification, b: Classification): boolean {
  const kinds = ({ type, parts }: Classification) => [type, ...parts.map((part) => part.type).toSorted()].join();
  return kinds(a) === kinds(b);
}

function portOf(type: Vector): { sourcePort: number | null } {
  return { sourcePort: reflectedPort(type) };
}

/**
 * The share that a vector needs. Traffic that alone reaches the threshold is not normal, since the host was below it
 * before. If no vector has the majority, vectors near the largest one count too.
 */
function minimumShareOf(type: Vector, nearLargest: number, { timesThreshold, held }: ClassifierOptions): number {
  const bar = Math.max(PART_MIN, Math.min(1 / timesThreshold, nearLargest));
  return held?.parts.some((part) => part.type === type) ? bar * PART_SLACK : bar;
}

interface Traffic {
  readonly total: number;
  /** Each packet counts for at most one vector. */
  readonly byVector: ReadonlyMap<Vector, number>;
}

function trafficOf(packets: readonly SampledPacket[], unit: TrafficUnit): Traffic {
  const byVector = new Map<Vector, number>();
  const add = (vector: Vector | null, amount: number) => {
    if (vector !== null && amount > 0) byVector.set(vector, (byVector.get(vector) ?? 0) + amount);
  };
  const weightOf = weightFunction(unit);
  const cut = new FragmentedDatagrams();
  let total = 0;
  for (const packet of packets) {
    const { header, standsFor } = packet;
    const weight = weightOf(packet);
    total += weight;
    const vector = vectorOf(header);
    if (header.protocol === IP_PROTOCOL.udp && header.fragment !== null) {
      cut.add({ isFirst: header.fragment === "first", vector, packets: standsFor, weight });
    }
    if (header.protocol !== IP_PROTOCOL.udp || header.fragment !== "later") add(vector, weight);
  }
  for (const [vector, weight] of cut.laterWeights()) add(vector, weight);
  return { total, byVector };
}

/** The weight of one packet. */
function weightFunction(unit: TrafficUnit): (packet: SampledPacket) => number {
  const flows = new Set<string>();
  return ({ header, standsFor, wireBytes }) => {
    if (unit === "packets") return standsFor;
    if (unit === "bytes") return standsFor * wireBytes;
    const { source, destination, protocol, ports, fragment } = header;
    const flow = `${source} ${destination} ${protocol} ${ports?.source} ${ports?.destination}`;
    // As in the packet counter, a later fragment starts no flow.
    if (fragment === "later" || flows.has(flow)) return 0;
    flows.add(flow);
    return standsFor;
  };
}

/**
 * Fragments of UDP datagrams. Only a first fragment has ports: later ones are distributed in proportion to the first
 * ones, at most LATER_FRAGMENTS_MAX for each.
 */
class FragmentedDatagrams {
  readonly #firstPackets = new Map<Vector, number>();
  #first = 0;
  #laterPackets = 0;
  #laterWeight = 0;

  add({
    isFirst,
    vector,
    packets,
    weight,
  }: {
    isFirst: boolean;
    vector: Vector | null;
    packets: number;
    weight: number;
  }) {
    if (!isFirst) {
      this.#laterPackets += packets;
      this.#laterWeight += weight;
      return;
    }
    this.#first += packets;
    if (vector !== null) this.#firstPackets.set(vector, (this.#firstPackets.get(vector) ?? 0) + packets);
  }

  *laterWeights(): Generator<[Vector, number]> {
    let left = 1;
    for (const [vector, packets] of this.#firstPackets) {
      if (reflectedPort(vector) === null) continue;
      const share = Math.min(packets / this.#first, (packets * LATER_FRAGMENTS_MAX) / this.#laterPackets);
      left -= share;
      yield [vector, this.#laterWeight * share];
    }
    yield ["fragment_flood", this.#laterWeight * Math.max(0, left)];
  }
}

/** null: no vector is named for the protocol. */
export function vectorOf({ protocol, ports, tcpFlags, fragment }: PacketHeader): Vector | null {
  const isUdp = protocol === IP_PROTOCOL.udp;
  const amplification = isUdp && ports !== null ? amplificationFrom(ports.source) : null;
  if (amplification !== null) return amplification;
  if (tcpFlags !== null && (tcpFlags & (TCP.syn | TCP.ack)) === TCP.syn) return "syn_flood";
  if (fragment !== null) return "fragment_flood";
  switch (protocol) {
    case IP_PROTOCOL.icmp:
    case IP_PROTOCOL.icmpv6:
      return "icmp_flood";
    case IP_PROTOCOL.gre:
      return "gre_flood";
    case IP_PROTOCOL.tcp:
      return tcpVector(tcpFlags ?? 0);
    case IP_PROTOCOL.udp:
      return ports?.destination === QUIC_PORT || ports?.source === QUIC_PORT ? "quic_flood" : "udp_flood";
    default:
      return null;
  }
}

function tcpVector(flags: number): Vector {
  if ((flags & TCP.syn) !== 0) return "syn_ack_flood";
  if ((flags & TCP.rst) !== 0) return "rst_flood";
  // A segment with PSH or FIN is part of a conversation, not of a flood of bare acknowledgements.
  return (flags & (TCP.ack | TCP.psh | TCP.fin)) === TCP.ack ? "ack_flood" : "tcp_flood";
}
