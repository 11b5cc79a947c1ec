/**
 * Exporters of flow telemetry as datagrams of one step: honest ones that report what there is, and what one sends that turned
 * hostile. None of it is true of a host, or may have one banned.
 */

import { type FlowFields, netflow5, netflow9Data, netflow9Template, sflow5 } from "../fixtures/flows/flow-datagrams.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import type { Chance } from "../fixtures/seeded-random.ts";

export const HONEST_PROTOCOLS = ["netflow5", "netflow9", "sflow"] as const;
export type HonestProtocol = (typeof HONEST_PROTOCOLS)[number];

/** One sampled packet stands for this number. */
const SFLOW_RATE = 100;
/** Of the only external interface, and of one inside. */
export const EXTERNAL = 1;
const INTERNAL = 2;
const PACKET_BYTES = 100;
/** Of one NetFlow v5 datagram. */
const RECORDS_MAX = 24;

/** Packets of a step to a host. */
export interface Amount {
  readonly dst: string;
  readonly packets: number;
}

/** Says what there is, in one protocol. */
export class HonestExporter {
  readonly #protocol: HonestProtocol;
  readonly #chance: Chance;
  #sequence = 1;
  /** By host: packets that were not sampled yet. */
  readonly #unsampled = new Map<string, number>();

  constructor(protocol: HonestProtocol, chance: Chance) {
    this.#protocol = protocol;
    this.#chance = chance;
  }

  step(amounts: readonly Amount[]): Uint8Array[] {
    return this.#protocol === "sflow" ? this.#samples(amounts) : this.#records(amounts);
  }

  #records(amounts: readonly Amount[]): Uint8Array[] {
    const flows = amounts.map(({ dst, packets }) => ({ ...this.#flow(dst), packets, bytes: packets * PACKET_BYTES }));
    if (flows.length === 0) return [];
    if (this.#protocol === "netflow5") {
      const datagram = netflow5(flows, { sequence: this.#sequence });
      this.#sequence += flows.length;
      return [datagram];
    }
    return [netflow9Template(this.#sequence++), netflow9Data(flows, this.#sequence++)];
  }

  #samples(amounts: readonly Amount[]): Uint8Array[] {
    return amounts.flatMap(({ dst, packets }) => {
      const due = (this.#unsampled.get(dst) ?? this.#chance.below(SFLOW_RATE)) + packets;
      this.#unsampled.set(dst, due % SFLOW_RATE);
      // One of each datagram, so that its number is that of the sample.
      return Array.from({ length: Math.floor(due / SFLOW_RATE) }, () => {
        const ways = { rate: SFLOW_RATE, input: EXTERNAL, output: INTERNAL };
        return sflow5([frameOf(this.#flow(dst))], ways, this.#sequence++);
      });
    });
  }

  #flow(dst: string) {
    const src = `198.51.${this.#chance.below(256)}.${1 + this.#chance.below(254)}`;
    return { src, dst, input: EXTERNAL, output: INTERNAL };
  }
}

/** What a hostile exporter has to send with. */
export interface Sender {
  readonly chance: Chance;
  readonly host: (i: number) => string;
  /** Records of NetFlow v5, numbered on: equal numbers would be taken for one datagram. */
  readonly netflow5: (flows: readonly FlowFields[]) => Uint8Array;
}

export function senderOf(chance: Chance, host: (i: number) => string): Sender {
  let sequence = 0;
  const numbered = (flows: readonly FlowFields[]) => {
    const datagram = netflow5(flows, { sequence });
    sequence += flows.length;
    return datagram;
  };
  return { chance, host, netflow5: numbered };
}

/** `isSilent`: no records of traffic are in it. */
export interface Lie {
  readonly isSilent: boolean;
  readonly make: (sender: Sender) => readonly Uint8Array[];
}

export const LIES = {
  /** The numbers of an honest exporter's domain and template, with other fields. */
  "templates in others' names": {
    isSilent: true,
    make: ({ chance }) =>
      Array.from({ length: 10 }, () => {
        const lengths = Array.from({ length: 1 + chance.below(40) }, () => 1 + chance.below(8));
        return template({ id: 256 + chance.below(3), domain: chance.below(2), lengths }, chance);
      }),
  },
  "ever new templates and domains": {
    isSilent: true,
    make: ({ chance }) =>
      Array.from({ length: 40 }, () =>
        template({ id: 256 + chance.below(60_000), domain: chance.below(2 ** 32), lengths: [4, 4, 4] }, chance),
      ),
  },
  "fields of length 0": {
    isSilent: true,
    make: ({ chance }) => [
      template({ id: 300, domain: 9, lengths: Array.from({ length: 1 + chance.below(250) }, () => 0) }, chance),
      dataOf(300, 9, 1400),
    ],
  },
  noise: {
    isSilent: true,
    make: ({ chance }) =>
      Array.from({ length: 60 }, () => Uint8Array.from({ length: chance.below(600) }, () => chance.below(256))),
  },
  "cut and lengthened datagrams": {
    isSilent: true,
    make: ({ chance }) =>
      Array.from({ length: 40 }, () => {
        const datagram = Buffer.from(template({ id: 400, domain: 8, lengths: [4, 4, 4, 4] }, chance));
        datagram.writeUInt16BE(chance.below(65_536), 22);
        return datagram.subarray(0, 4 + chance.below(datagram.length - 4));
      }),
  },
  "rates that no exporter has": {
    isSilent: false,
    make: ({ chance, host }) => {
      const frame = frameOf({ src: "198.51.100.7", dst: host(chance.below(4)) });
      const rate = chance.oneOf([2 ** 32 - 1, 2 ** 31, 2 ** 24]);
      return [sflow5([frame], { rate, input: EXTERNAL, output: INTERNAL }, 1 + chance.below(2 ** 20))];
    },
  },
  "counts that no flow has": {
    isSilent: false,
    make: ({ chance, host, netflow5: records }) => {
      const ends = { src: "198.51.100.7", dst: host(chance.below(4)), input: EXTERNAL, output: INTERNAL };
      const [packets, bytes] = chance.oneOf([
        [2 ** 32 - 1, 2 ** 32 - 1],
        [2_000_000_000, 1000],
        [1, 2 ** 31],
      ] as const);
      return [records([{ ...ends, packets, bytes }])];
    },
  },
  /** To many hosts, none of which gets much; and to outside, where it came in from outside. */
  "records in a protected host's name": {
    isSilent: false,
    make: ({ chance, host, netflow5: records }) => {
      const src = host(0);
      const of = (dst: string, output: number): FlowFields => {
        return { src, dst, packets: 10, bytes: 10 * PACKET_BYTES, input: EXTERNAL, output };
      };
      const inside = Array.from({ length: RECORDS_MAX }, () => of(host(1 + chance.below(180)), INTERNAL));
      const outside = Array.from({ length: RECORDS_MAX }, () => of("192.0.2.9", EXTERNAL));
      return [records(inside), records(outside)];
    },
  },
} as const satisfies Readonly<Record<string, Lie>>;
export type LieName = keyof typeof LIES;
export const LIE_NAMES = Object.keys(LIES) as LieName[];

/** From an address that is no exporter's: would be a large flood. */
export function strangersFlood(dst: string): Uint8Array {
  const flow = { src: "198.51.100.7", dst, packets: 100_000, bytes: 100_000 * PACKET_BYTES, input: EXTERNAL };
  return netflow5([{ ...flow, output: INTERNAL }]);
}

/** Each packet is a record of its own: many records of little. */
export function manyRecords(count: number, { host, netflow5: records }: Sender): Uint8Array[] {
  const flows = Array.from({ length: count }, (_, i) => {
    return { src: "198.51.100.7", dst: host(i), packets: 1, bytes: PACKET_BYTES, input: EXTERNAL, output: INTERNAL };
  });
  return Array.from({ length: Math.ceil(count / RECORDS_MAX) }, (_, i) =>
    records(flows.slice(i * RECORDS_MAX, (i + 1) * RECORDS_MAX)),
  );
}

function frameOf({ src, dst }: { readonly src: string; readonly dst: string }): Uint8Array {
  return ethernet(ip({ src, dst }, udp({ sourcePort: 53, destinationPort: 4444, payload: new Uint8Array(60) })));
}

interface TemplateFields {
  readonly id: number;
  readonly domain: number;
  readonly lengths: readonly number[];
}

/** NetFlow v9, with elements drawn at random. */
function template({ id, domain, lengths }: TemplateFields, chance: Chance): Uint8Array {
  const set = Buffer.alloc(8 + 4 * lengths.length);
  set.writeUInt16BE(0, 0);
  set.writeUInt16BE(set.length, 2);
  set.writeUInt16BE(id, 4);
  set.writeUInt16BE(lengths.length, 6);
  for (const [i, length] of lengths.entries()) {
    set.writeUInt16BE(1 + chance.below(90), 8 + 4 * i);
    set.writeUInt16BE(length, 10 + 4 * i);
  }
  return Buffer.concat([header9(domain), set]);
}

function dataOf(id: number, domain: number, bytes: number): Uint8Array {
  const set = Buffer.alloc(bytes, 0xff);
  set.writeUInt16BE(id, 0);
  set.writeUInt16BE(bytes, 2);
  return Buffer.concat([header9(domain), set]);
}

function header9(domain: number): Buffer {
  const header = Buffer.alloc(20);
  header.writeUInt16BE(9, 0);
  header.writeUInt16BE(1, 2);
  header.writeUInt32BE(3_600_000, 4);
  header.writeUInt32BE(Math.floor(Date.now() / 1000), 8);
  header.writeUInt32BE(domain, 16);
  return header;
}
