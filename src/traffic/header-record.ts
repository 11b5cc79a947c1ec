/** The records in which the packet counter hands over the headers of sampled packets. */

export const HEADER_RECORD_BYTES = 160;
const FRAME_AT = 24;
const FRAME_BYTES = 128;

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
    return this.#words[(index * HEADER_RECORD_BYTES) / 4] as number;
  }

  /** How long ago it came, in whole ticks. */
  ageMs(index: number): number {
    return this.#doubles[(index * HEADER_RECORD_BYTES + 8) / 8] as number;
  }

  /** Packets of its worker that it was drawn from: a worker with more traffic keeps one in more. */
  standsFor(index: number): number {
    return this.#words[(index * HEADER_RECORD_BYTES + 20) / 4] as number;
  }

  /** From the start of the Ethernet header, as much as was kept: a view that the next reading overwrites. */
  frame(index: number): Uint8Array {
    const start = index * HEADER_RECORD_BYTES;
    const captured = Math.min(this.#words[(start + 4) / 4] as number, FRAME_BYTES);
    return this.bytes.subarray(start + FRAME_AT, start + FRAME_AT + captured);
  }
}
