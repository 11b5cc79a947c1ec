/** The record in which the packet counter hands over the headers of one sampled packet. */

export const HEADER_RECORD_BYTES = 160;
const FRAME_AT = 24;
const FRAME_BYTES = 128;

export interface HeaderRecord {
  /** Length of the frame on the wire. */
  readonly wireBytes: number;
  /** How long ago it came, in whole ticks. */
  readonly ageMs: number;
  /** From the start of the Ethernet header, as much as was kept: a view that the next reading overwrites. */
  readonly frame: Uint8Array;
}

/** What is needed of the packet counter. */
export interface HeaderSamples {
  /** Fills `out` with the newest headers of packets to or from a host (16 bytes), newest last. Returns how many. */
  readSamples(address: Uint8Array, out: Uint8Array): number;
}

/** Numbers are in the machine's order, which is little endian wherever the addon runs. */
export function headerRecord(records: Uint8Array, index: number): HeaderRecord {
  const start = index * HEADER_RECORD_BYTES;
  const view = new DataView(records.buffer, records.byteOffset + start, HEADER_RECORD_BYTES);
  const captured = Math.min(view.getUint32(4, true), FRAME_BYTES);
  return {
    wireBytes: view.getUint32(0, true),
    ageMs: view.getFloat64(8, true),
    frame: records.subarray(start + FRAME_AT, start + FRAME_AT + captured),
  };
}
