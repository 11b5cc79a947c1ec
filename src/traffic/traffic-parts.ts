/**
 * The incoming traffic of all hosts by where it comes from, estimated from sampled headers: the largest autonomous
 * systems, countries, prefixes, ingress interfaces, exporters and ports of each interval, as totals of the traffic history.
 */
import { ADDRESS_BYTES, type IpAddress } from "../net/address.ts";
import { HeaderRecords, type HeaderSamples } from "./header-record.ts";
import type { ReportedByExporter } from "./ingress.ts";
import { LargestKeys } from "./largest-keys.ts";
import { decodeHeader, type PacketHeader } from "./packet-header.ts";
import { type TotalRow, totalSeries } from "./traffic-history.ts";

/**
 * Keys of each kind: counted at once (twice as many for a moment), and stored of each interval. Of a counted key at most
 * 1/1024 of all bytes is missing.
 */
const PART_KEYS_COUNTED = 1024;
const PART_KEYS_STORED = 50;

export const PART_KINDS = ["asn", "country", "prefix", "interface", "exporter", "src_port", "dst_port"] as const;
export type PartKind = (typeof PART_KINDS)[number];
/** Those that every header has by itself, if its protocol has ports. */
type PortKind = "src_port" | "dst_port";

/** null: not known. */
type PartKeys = Readonly<Record<PartKind, string | null>>;

/** The name of a part's series in the history. No other total has such a name. */
export function partSeries(kind: PartKind, key: string): string {
  return `${partPrefix(kind)}${key}`;
}

/** The prefix of the names of all series of a kind. */
export function partPrefix(kind: PartKind): string {
  return `by ${kind}: `;
}

/** Whether it is that of a part, which is known when an interval is over. */
export function isPartSeries(series: string): boolean {
  return PART_KINDS.some((kind) => series.startsWith(partPrefix(kind)));
}

export interface TopQuery {
  readonly by: PartKind;
  /** Wall clock, ms. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly limit: number;
}

/** Means over the recorded time of the range. */
export interface TopPart {
  readonly key: string;
  readonly pps: number;
  readonly mbps: number;
}

interface TrafficPartsOptions {
  readonly headers: HeaderSamples;
  readonly isProtected: (host: IpAddress) => boolean;
  readonly keysOf: (source: IpAddress, reported: ReportedByExporter) => Omit<PartKeys, PortKind>;
}

/** Headers in one reading, the newest of all hosts: a few milliseconds with their lookups. */
const HEADERS_READ = 512;
const ALL_INCOMING = totalSeries({ kind: "all" });

export class TrafficParts {
  readonly #options: TrafficPartsOptions;
  readonly #records = new HeaderRecords(HEADERS_READ);
  readonly #anywhere = new Uint8Array(ADDRESS_BYTES);
  readonly #keys = Object.fromEntries(PART_KINDS.map((kind) => [kind, new LargestKeys(PART_KEYS_COUNTED)])) as Readonly<
    Record<PartKind, LargestKeys>
  >;
  #packets = 0;
  #bytes = 0;
  #lastMs: number | null = null;

  constructor(options: TrafficPartsOptions) {
    this.#options = options;
  }

  /** Call about once a second. @param nowMs monotonic. */
  read(nowMs: number): void {
    const elapsedMs = nowMs - (this.#lastMs ?? nowMs);
    this.#lastMs = nowMs;
    if (elapsedMs <= 0) return;
    const { headers, isProtected, keysOf } = this.#options;
    const records = this.#records;
    const count = headers.readSamples(this.#anywhere, records.bytes, 0);
    const first = this.#firstOf(count, elapsedMs);
    // The newest headers of a busy counter may be those of a few ticks, and stand for the rest of the second. Ages are
    // whole ticks.
    const spanMs =
      count < HEADERS_READ || first === count ? elapsedMs : Math.min(elapsedMs, records.ageMs(first) + 100);
    for (let i = first; i < count; i++) {
      const header = decodeHeader(records.frame(i));
      if (header === null || !isProtected(header.destination)) continue;
      const packets = (records.standsFor(i) * elapsedMs) / spanMs;
      const bytes = packets * records.wireBytes(i);
      this.#packets += packets;
      this.#bytes += bytes;
      const keys = { ...keysOf(header.source, records.reported(i)), ...portKeys(header) };
      for (const kind of PART_KINDS) {
        const key = keys[kind];
        if (key !== null) this.#keys[kind].add(key, packets, bytes);
      }
    }
  }

  /**
   * The parts since the last call: shares of the samples, of what was counted.
   * @param totals those of the same interval.
   */
  take(totals: readonly TotalRow[]): TotalRow[] {
    const total = totals.find(({ series, outgoing }) => series === ALL_INCOMING && !outgoing);
    const [pps = 0, mbps = 0] = total?.values ?? [];
    const [packets, bytes] = [this.#packets, this.#bytes];
    [this.#packets, this.#bytes] = [0, 0];
    return PART_KINDS.flatMap((kind) =>
      this.#keys[kind].take(PART_KEYS_STORED).map((part) => {
        const own = [(pps * part.packets) / packets, (mbps * part.bytes) / bytes, 0] as const;
        // Their maxima are not shown.
        const values = [...own, Number.NaN, ...own, 0, 0, 0] as const;
        return { series: partSeries(kind, part.key), outgoing: false, values };
      }),
    );
  }

  /** Headers are oldest first. */
  #firstOf(count: number, elapsedMs: number): number {
    let first = count;
    while (first > 0 && this.#records.ageMs(first - 1) < elapsedMs) first--;
    return first;
  }
}

/** As the samples of attacks name them. */
function portKeys({ ports }: PacketHeader): Pick<PartKeys, PortKind> {
  return {
    src_port: ports === null ? null : String(ports.source),
    dst_port: ports === null ? null : String(ports.destination),
  };
}
