/**
 * The kept packets of one attack as flat memory: records of the packet counter and what each stands for. Costs next to
 * nothing to make or to hand to another thread; packets are decoded when they are read.
 */
import { HEADER_RECORD_BYTES, HeaderRecords } from "../../traffic/header-record.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import type { SampledPacket } from "./sample.ts";

/** Sent to another thread. Both arrays have a buffer of their own, which may be transferred. */
export interface PacketMessage {
  readonly records: Uint8Array<ArrayBuffer>;
  readonly standsFor: Float64Array<ArrayBuffer>;
}

export class PacketColumns {
  readonly #records: HeaderRecords;
  readonly #standsFor: Float64Array;
  /** Nothing overwrites the records. */
  readonly #areOwn: boolean;
  #decoded: readonly SampledPacket[] | null = null;

  /**
   * @param records at least as many as `standsFor` has. If they are overwritten, new columns must be made.
   * @param areOwn they are never overwritten.
   */
  constructor(records: HeaderRecords, standsFor: Float64Array, areOwn = false) {
    this.#records = records;
    this.#standsFor = standsFor;
    this.#areOwn = areOwn;
  }

  static of({ records, standsFor }: PacketMessage): PacketColumns {
    return new PacketColumns(new HeaderRecords(records), standsFor, true);
  }

  get length(): number {
    return this.#standsFor.length;
  }

  /** Columns that stay as they are, whatever is written to the records of these. */
  copy(): PacketColumns {
    return PacketColumns.of(this.message());
  }

  /** Whether one of the packets is such. */
  some(isSuch: (header: PacketHeader) => boolean): boolean {
    for (let i = 0; i < this.length; i++) if (isSuch(this.#records.header(i))) return true;
    return false;
  }

  /** A copy. */
  message(): PacketMessage {
    const records = this.#records.bytes.slice(0, this.length * HEADER_RECORD_BYTES);
    return { records, standsFor: this.#standsFor.slice() };
  }

  /** Oldest first, for one look: their headers have addresses only when these are read, see RecordHeader. */
  glance(): SampledPacket[] {
    const records = this.#records;
    const packets: SampledPacket[] = [];
    for (let i = 0; i < this.length; i++) {
      const standsFor = this.#standsFor[i] as number;
      packets.push(withReported(records, i, { header: records.header(i), wireBytes: records.wireBytes(i), standsFor }));
    }
    return packets;
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
      // Nearly all addresses are never read.
      const header = this.#areOwn ? records.knownHeader(i) : records.wholeHeader(i);
      if (header === null) continue;
      const standsFor = this.#standsFor[i] as number;
      packets.push(withReported(records, i, { header, wireBytes: records.wireBytes(i), standsFor }));
    }
    return packets;
  }
}

/** With what an exporter reported of it. On a mirror port there is none. */
function withReported(records: HeaderRecords, index: number, packet: SampledPacket): SampledPacket {
  return records.field(index, "exporter") === 0 ? packet : { ...packet, ...records.reported(index) };
}

export const NO_COLUMNS = new PacketColumns(new HeaderRecords(0), new Float64Array(0));
