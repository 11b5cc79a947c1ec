/**
 * The packet counter of the simulation: hands over the rates that the traffic really has, and sampled headers of its
 * floods, as the addon would. No window: a rate is known at the next tick.
 */
import { loadAddon } from "../../src/dataplane/addon.ts";
import type { Engine, Native, Source, TickSummary } from "../../src/dataplane/native.d.ts";
import type { LearnedRates } from "../../src/detection/baseline/learned-rates.ts";
import type { PrefixSums } from "../../src/detection/carpet/prefix-sums.ts";
import { SAMPLE_PLACE } from "../../src/native/constants.ts";
import { addressFromBytes } from "../../src/net/address.ts";
import type { CountRows } from "../../src/traffic/count-rows.ts";
import { HEADER_RECORD_BYTES } from "../../src/traffic/header-record.ts";
import { allocateHostRows, type HostRows } from "../../src/traffic/host-rows.ts";
import type { NetworksTable } from "../../src/traffic/network-lookup.ts";
import { METRICS } from "../../src/traffic/rates.ts";
import { ethernet, ip, TCP_FLAGS, type Transport, tcp, udp } from "../fixtures/packets/frames.ts";
import { recordOf } from "../fixtures/packets/header-samples.ts";
import type { Flood, Host, SimulatedTraffic } from "./simulated-traffic.ts";

/** Enough for a judgement, few enough for a month of them. */
const RECORDS = 16;
const SPOOFED_RECORDS = 64;
const WIDTH = METRICS.length;

/** Where a host lies, in the identifiers of the table. */
interface Tracked {
  readonly host: Host;
  readonly network: number;
  readonly group: number;
}

/** The part of the traffic that is read. */
export type CountedTraffic = Pick<SimulatedTraffic, "hosts" | "floods" | "version">;

/** @param opening throws if sources cannot be opened now. */
export function simulatedNative(traffic: CountedTraffic, opening: () => void = () => {}): Native {
  const absent = () => {
    throw new Error("the simulation has no data plane");
  };
  return {
    openEngine: ({ tickMs }) => new SimulatedEngine(traffic, tickMs, opening),
    openBaselines: (options) => loadAddon().openBaselines(options),
    openPrefixSums: (capacity) => loadAddon().openPrefixSums(capacity),
    openFilter: absent,
    buildNamedSets: absent,
    readPinnedFilter: absent,
    probeProgram: absent,
    readInterface: absent,
    readKernel: absent,
    limitConnections: absent,
    dropCapabilities: absent,
  };
}

class SimulatedEngine implements Engine {
  readonly #traffic: CountedTraffic;
  #table: NetworksTable | null = null;
  #screens: Float64Array = new Float64Array(0);
  #watched = new Set<string>();
  readonly #tickMs: number;
  /** As of the last tick. */
  #tracked: Tracked[] = [];
  #screened: Tracked[] = [];
  /** What they were found from. */
  #placed: { readonly version: number; readonly table: NetworksTable | null } | null = null;
  readonly #opening: () => void;
  /** Without a source nothing is counted. */
  #hasSource = false;
  #isClosed = false;
  #rows = allocateHostRows(0);

  constructor(traffic: CountedTraffic, tickMs: number, opening: () => void) {
    this.#traffic = traffic;
    this.#tickMs = tickMs;
    this.#opening = opening;
  }

  setNetworks(table: NetworksTable): void {
    this.#table = table;
  }

  setScreens(screens: Float64Array): void {
    this.#screens = screens;
  }

  setWatched(addresses: Uint8Array): void {
    this.#watched = new Set();
    for (let at = 0; at < addresses.length; at += 16) this.#watched.add(addressFromBytes(addresses, at));
  }

  openSource(): Source {
    this.#opening();
    this.#hasSource = true;
    this.#placed = null;
    return { status: () => ({ state: "running", mode: "simulated", error: null, queues: [] }), close: () => {} };
  }

  openFlowSource(): never {
    throw new Error("the simulation has no flow telemetry");
  }

  openReplay(): never {
    throw new Error("the simulation has no captures");
  }

  async tick(): Promise<TickSummary> {
    if (this.#isClosed) throw new TypeError("engine is closed");
    if (this.#placed?.version !== this.#traffic.version || this.#placed.table !== this.#table) {
      const hosts = this.#hasSource ? this.#traffic.hosts : [];
      this.#tracked = hosts.flatMap((host) => this.#place(host) ?? []);
      this.#placed = { version: this.#traffic.version, table: this.#table };
    }
    const isWatched = ({ host }: Tracked) => this.#watched.has(host.ip);
    const rest = this.#tracked.filter((row) => !isWatched(row) && this.#isScreened(row));
    this.#screened = [...this.#tracked.filter(isWatched), ...rest];
    const { length } = this.#tracked;
    return { trackedHosts: length, screened: this.#screened.length, foldMicros: 0, foldedRows: length, rising: 0 };
  }

  readScreened(out: HostRows): number {
    writeAll(out, this.#screened.slice(0, out.capacity));
    return this.#screened.length;
  }

  readRising(): number {
    return 0;
  }

  readCounts(first: number, out: CountRows): number {
    const watched = this.#screened.filter(({ host }) => this.#watched.has(host.ip));
    for (const [row, { host }] of watched.slice(first, first + out.capacity).entries()) {
      out.addresses.set(host.bytes, row * 16);
      out.agesMs[row] = 0;
      out.isBefore[row] = 0;
      out.spansMs[row] = this.#tickMs;
      for (let i = 0; i < WIDTH; i++) {
        out.incoming[row * WIDTH + i] = ((host.rates[i] as number) * this.#tickMs) / 1000;
        out.outgoing[row * WIDTH + i] = ((host.rates[WIDTH + i] as number) * this.#tickMs) / 1000;
      }
    }
    return watched.length;
  }

  readHosts(cursor: number, out: HostRows): { next: number; count: number } {
    const rows = this.#tracked.slice(cursor, cursor + out.capacity);
    writeAll(out, rows);
    const next = cursor + rows.length;
    return { next: next < this.#tracked.length ? next : -1, count: rows.length };
  }

  learnHosts(rates: LearnedRates, sums: PrefixSums | null): number {
    if (this.#rows.capacity !== this.#tracked.length) this.#rows = allocateHostRows(this.#tracked.length);
    writeAll(this.#rows, this.#tracked);
    rates.learnRows(this.#rows, this.#tracked.length, sums);
    return -1;
  }

  async learnHostsAsync(rates: LearnedRates, sums: PrefixSums | null): Promise<number> {
    return this.learnHosts(rates, sums);
  }

  readHost(): boolean {
    return false;
  }

  readGroups(out: HostRows): number {
    const count = this.#table?.groupCount ?? 0;
    out.incoming.fill(0);
    out.outgoing.fill(0);
    for (const { host, group } of this.#tracked) {
      for (let i = 0; i < WIDTH; i++) {
        const at = group * WIDTH + i;
        out.incoming[at] = (out.incoming[at] as number) + (host.rates[i] as number);
        out.outgoing[at] = (out.outgoing[at] as number) + (host.rates[WIDTH + i] as number);
      }
    }
    return count;
  }

  /** The simulation has no history. */
  keepIntervals(): void {}

  takeIntervals(): { next: number; count: number } {
    return { next: -1, count: 0 };
  }

  readInterval(): boolean {
    return false;
  }

  readSamples(address: Uint8Array, out: Uint8Array, length = 128): number {
    const isWithin = ({ bytes }: Host) => commonBits(bytes, 0, address, 0) >= length;
    const records = this.#traffic.floods.flatMap((flood) =>
      flood.hosts
        .filter(isWithin)
        .slice(0, 8)
        .flatMap((host) => recordsOf(flood, host)),
    );
    const fitting = records.slice(0, Math.floor(out.length / HEADER_RECORD_BYTES));
    for (const [i, record] of fitting.entries()) out.set(record, i * HEADER_RECORD_BYTES);
    return fitting.length;
  }

  readSamplesOf(places: Uint8Array, out: Uint8Array, counts: Uint32Array, each: number): number {
    let total = 0;
    for (let place = 0; place < places.length / SAMPLE_PLACE.bytes; place++) {
      const at = place * SAMPLE_PLACE.bytes;
      const address = places.subarray(at + SAMPLE_PLACE.address, at + SAMPLE_PLACE.address + 16);
      const length = places[at + SAMPLE_PLACE.length] as number;
      const room = Math.min(out.length, (total + each) * HEADER_RECORD_BYTES);
      const count = this.readSamples(address, out.subarray(total * HEADER_RECORD_BYTES, room), length);
      counts[place] = count;
      total += count;
    }
    return total;
  }

  async readSamplesOfAsync(places: Uint8Array, out: Uint8Array, counts: Uint32Array, each: number): Promise<number> {
    return this.readSamplesOf(places, out, counts, each);
  }

  /** Nothing is known of hosts from before their attacks. */
  setProfileDelay(): void {}

  readProfile(): number {
    return 0;
  }

  readProfiles(): { next: number; count: number } {
    return { next: -1, count: 0 };
  }

  stats() {
    const untrackedPackets = new Float64Array(this.#table?.networkCount ?? 0);
    return {
      trackedHosts: this.#tracked.length,
      refusedHosts: 0,
      untrackedPackets,
      deferredRows: 0,
      memoryBytes: 0,
      replacedHosts: 0,
      evictedRows: 0,
    };
  }

  close(): void {
    this.#isClosed = true;
  }

  /** null: it has no traffic, or lies in no network. */
  #place(host: Host): Tracked | null {
    const table = this.#table;
    if (table === null || (host.rates[0] as number) + (host.rates[WIDTH] as number) === 0) return null;
    let longest = -1;
    table.lengths.forEach((length, row) => {
      const isLonger = longest < 0 || length > (table.lengths[longest] as number);
      if (isLonger && commonBits(host.bytes, 0, table.addresses, row * 16) >= length) longest = row;
    });
    if (longest < 0) return null;
    return { host, network: table.networks[longest] as number, group: table.groups[longest] as number };
  }

  #isScreened({ host, group }: Tracked): boolean {
    const from = group * 2 * WIDTH;
    return host.rates.some((rate, i) => rate >= (this.#screens[from + i] ?? Number.POSITIVE_INFINITY));
  }
}

function writeAll(out: HostRows, rows: readonly Tracked[]): void {
  for (const [row, { host, network, group }] of rows.entries()) {
    out.addresses.set(host.bytes, row * 16);
    out.groups[row] = group;
    out.networks[row] = network;
    out.idleMs[row] = 0;
    out.incoming.set(host.rates.subarray(0, WIDTH), row * WIDTH);
    out.outgoing.set(host.rates.subarray(WIDTH), row * WIDTH);
  }
}

function commonBits(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number): number {
  for (let i = 0; i < 16; i++) {
    const difference = (a[aAt + i] as number) ^ (b[bAt + i] as number);
    if (difference !== 0) return 8 * i + Math.clz32(difference) - 24;
  }
  return 128;
}

const RECORDS_MADE = new Map<string, readonly Uint8Array[]>();

function recordsOf({ direction, vector, isSpoofed }: Flood, host: Host): readonly Uint8Array[] {
  if (isSpoofed === true) return Array.from({ length: SPOOFED_RECORDS }, () => spoofedRecord(host));
  const key = `${direction} ${vector} ${host.ip}`;
  const known = RECORDS_MADE.get(key);
  if (known !== undefined) return known;
  const others = host.ip.includes(":") ? "2001:db8:ffff::" : "10.0.0.";
  const records = Array.from({ length: RECORDS }, (_, i) => {
    const other = `${others}${i + 1}`;
    const ends = direction === "incoming" ? { src: other, dst: host.ip } : { src: host.ip, dst: other };
    return recordOf({ frame: ethernet(ip(ends, TRANSPORTS[vector](i))) });
  });
  RECORDS_MADE.set(key, records);
  return records;
}

function spoofedRecord({ ip: dst }: Host): Uint8Array {
  const draw = (most: number) => Math.floor(Math.random() * most);
  const src = `${11 + draw(200)}.${draw(256)}.${draw(256)}.${draw(256)}`;
  const transport = udp({ sourcePort: 1024 + draw(60_000), destinationPort: 1024 + draw(60_000) });
  return recordOf({ frame: ethernet(ip({ src, dst }, transport)) });
}

const TRANSPORTS: Readonly<Record<Flood["vector"], (i: number) => Transport>> = {
  syn: (i) => tcp({ sourcePort: 20_000 + i, destinationPort: 80, flags: TCP_FLAGS.syn }),
  udp: (i) => udp({ sourcePort: 20_000 + i, destinationPort: 30_000 + i }),
  dns: (i) => udp({ sourcePort: 53, destinationPort: 20_000 + i, payload: new Uint8Array(1100) }),
};
