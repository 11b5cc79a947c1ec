/**
 * The kept packets of one attack as flat memory: the records of the packet counter and what each stands for. Costs next
 * to nothing to copy or to hand to another thread; packets are decoded when they are asked for.
 */
import { HEADER_RECORD_BYTES, HeaderRecords } from "../../traffic/header-record.ts";
import { decodeHeader } from "../../traffic/packet-header.ts";
import type { SampledPacket } from "./sample.ts";

/** What a thread can be sent. */
export interface PacketMessage {
  readonly records: Uint8Array;
  readonly standsFor: Float64Array;
}

export class PacketColumns {
  readonly #records: HeaderRecords;
  readonly #message: PacketMessage;
  #decoded: readonly SampledPacket[] | null = null;

  /** @param message owned by the columns from now on. */
  constructor(message: PacketMessage) {
    this.#message = message;
    this.#records = new HeaderRecords(message.records);
  }

  get length(): number {
    return this.#message.records.length / HEADER_RECORD_BYTES;
  }

  get message(): PacketMessage {
    return this.#message;
  }

  /** Oldest first, for one look: their headers have addresses only while they are asked for, see RecordHeader. */
  glance(): SampledPacket[] {
    const records = this.#records;
    return Array.from({ length: this.length }, (_, i) => ({
      header: records.header(i),
      wireBytes: records.wireBytes(i),
      standsFor: this.#message.standsFor[i] as number,
      ...records.told(i),
    }));
  }

  /** Oldest first, decoded once. */
  packets(): readonly SampledPacket[] {
    this.#decoded ??= this.#decode();
    return this.#decoded;
  }

  #decode(): SampledPacket[] {
    const records = this.#records;
    const packets: SampledPacket[] = [];
    for (let i = 0; i < this.length; i++) {
      const header = decodeHeader(records.frame(i));
      if (header === null) continue;
      const standsFor = this.#message.standsFor[i] as number;
      packets.push({ header, wireBytes: records.wireBytes(i), standsFor, ...records.told(i) });
    }
    return packets;
  }
}

export const NO_COLUMNS = new PacketColumns({ records: new Uint8Array(0), standsFor: new Float64Array(0) });
