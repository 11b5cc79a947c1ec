/** The records in which the packet counter hands over the headers of sampled packets. */
import { SAMPLE_RECORD } from "../dataplane/native-constants.ts";

export const HEADER_RECORD_BYTES = SAMPLE_RECORD.bytes;

/** What is needed of the packet counter. */
export interface HeaderSamples {
  /**
   * Fills `out` with the newest headers of packets to or from hosts that agree with the address (16 bytes) in its first
   * `length` bits, newest last. Returns how many.
   */
  readSamples(address: Uint8Array, out: Uint8Array, length: number): number;
}

/** Room for a reading, read field by field: a reading may have thousands of records, and few are looked at closely. */
export class HeaderRecords {
  readonly bytes: Uint8Array;
  /** Numbers are in the machine's order, which is little endian wherever the addon runs. */
  readonly #words: Uint32Array;
  readonly #doubles: Float64Array;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity * HEADER_RECORD_BYTES);
    this.#words = new Uint32Array(this.bytes.buffer);
    this.#doubles = new Float64Array(this.bytes.buffer);
  }

  /** Length of the frame on the wire. */
  wireBytes(index: number): number {
    return this.#words[(index * HEADER_RECORD_BYTES + SAMPLE_RECORD.wireBytes) / 4] as number;
  }

  /** How long ago it came, in whole ticks. */
  ageMs(index: number): number {
    return this.#doubles[(index * HEADER_RECORD_BYTES + SAMPLE_RECORD.ageMs) / 8] as number;
  }

  /** Packets of its worker that it was drawn from: a worker with more traffic keeps one in more. */
  standsFor(index: number): number {
    return this.#words[(index * HEADER_RECORD_BYTES + SAMPLE_RECORD.standsFor) / 4] as number;
  }

  /** From the start of the Ethernet header, as much as was kept: a view that the next reading overwrites. */
  frame(index: number): Uint8Array {
    const start = index * HEADER_RECORD_BYTES;
    const captured = this.#words[(start + SAMPLE_RECORD.capturedBytes) / 4] as number;
    const frameAt = start + SAMPLE_RECORD.frame;
    return this.bytes.subarray(frameAt, frameAt + Math.min(captured, SAMPLE_RECORD.frameBytes));
  }
}
