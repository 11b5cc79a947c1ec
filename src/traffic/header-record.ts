/** The records in which the packet counter hands over the headers of sampled packets. */
import { FILTER_VERDICTS, HEADER_BITS, REPORTED_FIELDS, SAMPLE_RECORD } from "../native/constants.ts";
import { ADDRESS_BYTES, addressFromBytes, type IpAddress } from "../net/address.ts";
import { CARRIED_FIELDS, type CarriedField, type ReportedByExporter, type ReportedField } from "./ingress.ts";
import type { PacketHeader } from "./packet-header.ts";
import type { PacketVerdict } from "./packet-outcome.ts";

export const HEADER_RECORD_BYTES = SAMPLE_RECORD.bytes;
/** Records are copied word by word: a view of each would cost ten times as much. */
export const HEADER_RECORD_WORDS = HEADER_RECORD_BYTES / 4;
/** The address in a record whose frame has no IP header. */
const UNSPECIFIED = addressFromBytes(new Uint8Array(ADDRESS_BYTES));

/** The part of the packet counter that is used. */
export interface HeaderSamples {
  /**
   * Fills `out` with the newest headers of packets to or from hosts whose first `length` bits equal those of the
   * address (16 bytes), newest last. Returns the number of records.
   */
  readSamples(address: Uint8Array, out: Uint8Array, length: number): number;
  /** Reads samples of many places at once: see Engine in src/dataplane/native.d.ts. */
  readSamplesOf(places: Uint8Array, out: Uint8Array, counts: Uint32Array, each: number): number;
  readSamplesOfAsync(places: Uint8Array, out: Uint8Array, counts: Uint32Array, each: number): Promise<number>;
}

/**
 * A buffer for one reading, decoded field by field: a reading may have thousands of records, and few are decoded
 * completely.
 */
export class HeaderRecords {
  readonly bytes: Uint8Array;
  /** Native byte order, which is little endian on all machines with the addon. */
  readonly words: Uint32Array;
  readonly #halves: Uint16Array;
  readonly #doubles: Float64Array;
  /** By the bytes of a number. */
  readonly #numbers: Readonly<Record<1 | 2 | 4, Uint8Array | Uint16Array | Uint32Array>>;

  /** @param of number of records, or the records themselves, from the start of a buffer. */
  constructor(of: number | Uint8Array) {
    this.bytes = typeof of === "number" ? new Uint8Array(of * HEADER_RECORD_BYTES) : of;
    this.words = new Uint32Array(this.bytes.buffer);
    this.#halves = new Uint16Array(this.bytes.buffer);
    this.#doubles = new Float64Array(this.bytes.buffer);
    this.#numbers = { 1: this.bytes, 2: this.#halves, 4: this.words };
  }

  /** Length of the frame on the wire. */
  wireBytes(index: number): number {
    return this.words[(index * HEADER_RECORD_BYTES + SAMPLE_RECORD.wireBytes) / 4] as number;
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
    return this.words[(index * HEADER_RECORD_BYTES + SAMPLE_RECORD.standsFor) / 4] as number;
  }

  /** A field of flow records, as the exporter that sampled the packet reported it; 0: not known. */
  field(index: number, field: ReportedField): number {
    const { at, bytes } = REPORTED_FIELDS[field];
    return this.#numbers[bytes][(index * HEADER_RECORD_BYTES + at) / bytes] as number;
  }

  /** Empty: no exporter reported it, as on a mirror port. */
  reported(index: number): ReportedByExporter {
    const exporter = this.field(index, "exporter");
    if (exporter === 0) return {};
    const carried: { [Field in CarriedField]?: number } = {};
    for (const field of CARRIED_FIELDS) {
      const value = this.field(index, field);
      if (value !== 0) carried[field] = value;
    }
    return { ingress: { exporter, input: this.field(index, "input") }, ...carried };
  }

  /** Made of a flow record: the frame has addresses, protocol, ports, TCP flags and length; all else in it is not known. */
  isMade(index: number): boolean {
    return this.bytes[index * HEADER_RECORD_BYTES + SAMPLE_RECORD.isMade] === 1;
  }

  /** The verdict of this machine's filter; null: nothing judged it, as on a mirror port. */
  verdict(index: number): PacketVerdict | null {
    return FILTER_VERDICTS[this.bytes[index * HEADER_RECORD_BYTES + SAMPLE_RECORD.verdict] as number] ?? null;
  }

  /** Without reading the frame. See RecordHeader. */
  header(index: number): PacketHeader {
    return new RecordHeader(this.bytes, index * HEADER_RECORD_BYTES, this.#fields(index));
  }

  /** The same as a copy, with its addresses; null: the frame has no IP header with a destination. */
  wholeHeader(index: number): PacketHeader | null {
    const start = index * HEADER_RECORD_BYTES;
    const { protocol, ports, tcpFlags, fragment, packetBytes } = this.#fields(index);
    const destination = addressFromBytes(this.bytes, start + SAMPLE_RECORD.destination);
    if (destination === UNSPECIFIED) return null;
    const source = addressFromBytes(this.bytes, start + SAMPLE_RECORD.source);
    return { source, destination, protocol, ports, tcpFlags, fragment, packetBytes };
  }

  /** header(), if the frame has an IP header with a destination; null: it has none. */
  knownHeader(index: number): PacketHeader | null {
    const at = (index * HEADER_RECORD_BYTES + SAMPLE_RECORD.destination) / 4;
    const { words } = this;
    for (let i = at; i < at + ADDRESS_BYTES / 4; i++) if (words[i] !== 0) return this.header(index);
    return null;
  }

  #fields(index: number): Omit<PacketHeader, "source" | "destination"> {
    const start = index * HEADER_RECORD_BYTES;
    const { bytes } = this;
    const bits = bytes[start + SAMPLE_RECORD.headerBits] as number;
    const half = (at: number) => this.#halves[(start + at) / 2] as number;
    const ports =
      (bits & HEADER_BITS.ports) === 0
        ? null
        : { source: half(SAMPLE_RECORD.sourcePort), destination: half(SAMPLE_RECORD.destinationPort) };
    const flags = bytes[start + SAMPLE_RECORD.tcpFlags] as number;
    return {
      protocol: bytes[start + SAMPLE_RECORD.protocol] as number,
      ports,
      tcpFlags: (bits & HEADER_BITS.tcpFlags) === 0 ? null : flags,
      fragment: fragmentOf(bits),
      packetBytes: half(SAMPLE_RECORD.packetBytes),
    };
  }

  /** From the start of the Ethernet header, as far as captured: a view that the next reading overwrites. */
  frame(index: number): Uint8Array {
    const start = index * HEADER_RECORD_BYTES;
    const captured = this.words[(start + SAMPLE_RECORD.capturedBytes) / 4] as number;
    const frameAt = start + SAMPLE_RECORD.frame;
    return this.bytes.subarray(frameAt, frameAt + Math.min(captured, SAMPLE_RECORD.frameBytes));
  }
}

/** Records of one place among those of others, oldest first. */
export interface RecordRange {
  readonly records: HeaderRecords;
  readonly from: number;
  readonly end: number;
}

/** The fragment by the bits of a record. */
export function fragmentOf(bits: number): PacketHeader["fragment"] {
  if ((bits & HEADER_BITS.laterFragment) !== 0) return "later";
  return (bits & HEADER_BITS.firstFragment) !== 0 ? "first" : null;
}

/**
 * A header as the packet counter read it. Addresses become text only when they are read: classifying needs none. A
 * copy by spreading would lack them; what is kept or changed is decoded from the frame (decodeHeader).
 */
class RecordHeader implements PacketHeader {
  readonly protocol: number;
  readonly ports: PacketHeader["ports"];
  readonly tcpFlags: number | null;
  readonly fragment: PacketHeader["fragment"];
  readonly packetBytes: number;
  readonly #bytes: Uint8Array;
  readonly #start: number;
  #source: IpAddress | null = null;
  #destination: IpAddress | null = null;

  constructor(bytes: Uint8Array, start: number, fields: Omit<PacketHeader, "source" | "destination">) {
    this.#bytes = bytes;
    this.#start = start;
    this.protocol = fields.protocol;
    this.ports = fields.ports;
    this.tcpFlags = fields.tcpFlags;
    this.fragment = fields.fragment;
    this.packetBytes = fields.packetBytes;
  }

  get source(): IpAddress {
    this.#source ??= addressFromBytes(this.#bytes, this.#start + SAMPLE_RECORD.source);
    return this.#source;
  }

  get destination(): IpAddress {
    this.#destination ??= addressFromBytes(this.#bytes, this.#start + SAMPLE_RECORD.destination);
    return this.#destination;
  }
}
