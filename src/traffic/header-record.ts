/** The records in which the packet counter hands over the headers of sampled packets. */
import { FILTER_VERDICTS, SAMPLE_RECORD } from "../dataplane/native-constants.ts";
import type { ToldByExporter } from "./ingress.ts";
import type { PacketVerdict } from "./packet-outcome.ts";

export const HEADER_RECORD_BYTES = SAMPLE_RECORD.bytes;

/** The part of the packet counter that is used. */
export interface HeaderSamples {
  /**
   * Fills `out` with the newest headers of packets to or from hosts whose first `length` bits equal those of the
   * address (16 bytes), newest last. Returns the number of records.
   */
  readSamples(address: Uint8Array, out: Uint8Array, length: number): number;
}

/**
 * A buffer for one reading, decoded field by field: a reading may have thousands of records, and few are decoded
 * completely.
 */
export class HeaderRecords {
  readonly bytes: Uint8Array;
  /** Native byte order, which is little endian on all machines with the addon. */
  readonly #words: Uint32Array;
  readonly #halves: Uint16Array;
  readonly #doubles: Float64Array;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity * HEADER_RECORD_BYTES);
    this.#words = new Uint32Array(this.bytes.buffer);
    this.#halves = new Uint16Array(this.bytes.buffer);
    this.#doubles = new Float64Array(this.bytes.buffer);
  }

  /** Length of the frame on the wire. */
  wireBytes(index: number): number {
    return this.#words[(index * HEADER_RECORD_BYTES + SAMPLE_RECORD.wireBytes) / 4] as number;
  }

  /** Age in whole ticks, as ms. */
  ageMs(index: number): number {
    return this.#doubles[(index * HEADER_RECORD_BYTES + SAMPLE_RECORD.ageMs) / 8] as number;
  }

  /**
   * Number of packets that this one represents: those of its worker, of which a busier one samples a smaller part, times
   * the rate at which the worker's traffic was sampled.
   */
  standsFor(index: number): number {
    return this.#words[(index * HEADER_RECORD_BYTES + SAMPLE_RECORD.standsFor) / 4] as number;
  }

  /** Number of the exporter that sampled it, and of its interface where it came in (ifIndex); 0: not known. */
  exporter(index: number): number {
    return this.#halves[(index * HEADER_RECORD_BYTES + SAMPLE_RECORD.exporter) / 2] as number;
  }
  input(index: number): number {
    return this.#words[(index * HEADER_RECORD_BYTES + SAMPLE_RECORD.input) / 4] as number;
  }

  /** The source's autonomous system as the exporter has it; 0: not known. */
  sourceAs(index: number): number {
    return this.#words[(index * HEADER_RECORD_BYTES + SAMPLE_RECORD.sourceAs) / 4] as number;
  }

  /** Empty: no exporter told it, as on a mirror port. */
  told(index: number): ToldByExporter {
    const [exporter, sourceAs] = [this.exporter(index), this.sourceAs(index)];
    if (exporter === 0) return {};
    return { ingress: { exporter, input: this.input(index) }, ...(sourceAs !== 0 && { sourceAs }) };
  }

  /** Made of a flow record: the frame has addresses, protocol, ports, TCP flags and length; all else in it is not known. */
  isMade(index: number): boolean {
    return this.bytes[index * HEADER_RECORD_BYTES + SAMPLE_RECORD.isMade] === 1;
  }

  /** What the filter of this machine decided about it; null: nothing judged it, as on a mirror port. */
  verdict(index: number): PacketVerdict | null {
    return FILTER_VERDICTS[this.bytes[index * HEADER_RECORD_BYTES + SAMPLE_RECORD.verdict] as number] ?? null;
  }

  /** From the start of the Ethernet header, as far as captured: a view that the next reading overwrites. */
  frame(index: number): Uint8Array {
    const start = index * HEADER_RECORD_BYTES;
    const captured = this.#words[(start + SAMPLE_RECORD.capturedBytes) / 4] as number;
    const frameAt = start + SAMPLE_RECORD.frame;
    return this.bytes.subarray(frameAt, frameAt + Math.min(captured, SAMPLE_RECORD.frameBytes));
  }
}
