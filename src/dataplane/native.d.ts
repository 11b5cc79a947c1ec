/**
 * The functions of the addon, in the order of addon/binding/; bounds, names and record layouts are in
 * src/native/constants.ts. Addresses cross as 16 bytes each, IPv4 in its mapped form (::ffff:a.b.c.d); prefix lengths
 * are of that 128-bit form (an IPv4 /24 is 120). Absent values are null. Every handle has close(): twice is fine, use
 * after it throws `TypeError: <handle> is closed`.
 */

import type { LearnedRates } from "../detection/baseline/learned-rates.ts";
import type { PrefixSums } from "../detection/carpet/prefix-sums.ts";
import type { InterfaceFindings, KernelFindings, ProgramProbe, ProgramVariant } from "../machine/machine.ts";
import type {
  CLOCKS,
  FILTER_ENDS,
  FILTER_ORIGINS,
  FILTER_VERDICTS,
  FORWARD_OUTCOMES,
  PINNED_STATES,
  TUNNEL_KINDS,
  XDP_MODES,
} from "../native/constants.ts";
import type { CountRows } from "../traffic/count-rows.ts";
import type { HostRows } from "../traffic/host-rows.ts";
import type { IntervalRows } from "../traffic/interval-rows.ts";
import type { NetworksTable } from "../traffic/network-lookup.ts";
import type { FlowSource, FlowSourceOptions } from "./native-flow.d.ts";
import type { Decapsulation, Source, SourceOptions, SourceStatus } from "./native-source.d.ts";

export type {
  Decapsulation,
  Encapsulation,
  QueueStats,
  SamplingRate,
  Source,
  SourceOptions,
  SourceStatus,
} from "./native-source.d.ts";

type XdpMode = (typeof XDP_MODES)[number];

export interface EngineOptions {
  readonly maxHosts: number;
  readonly windowMs: number;
  /** Divides windowMs. */
  readonly tickMs: number;
  readonly countOutgoing: boolean;
  /** `monotonic`: sources run in their own threads and tick() folds. `capture`: only openReplay, time is the capture's. */
  readonly clock: (typeof CLOCKS)[number];
  /** A host without packets for this time leaves the table. */
  readonly idleMs: number;
}

export interface Replay {
  /**
   * Counts packets up to the next tick of the capture's own time and folds.
   * Returns that time in milliseconds since the epoch, or null once the capture and one window after it are over.
   */
  advance(): number | null;
  status(): SourceStatus;
  close(): void;
}

export interface TickSummary {
  readonly trackedHosts: number;
  /** Number of rows for the next readScreened(). */
  readonly screened: number;
  /** Duration of the fold in microseconds, and the number of rows that it processed. */
  readonly foldMicros: number;
  readonly foldedRows: number;
  /** Number of hosts that may reach their group's screen before the next tick; 0: readRising() has nothing until then. */
  readonly rising: number;
}

export interface EngineStats {
  readonly trackedHosts: number;
  /** Hosts without a row because the table was full, or because they had too few packets while it was crowded. */
  readonly refusedHosts: number;
  /** Packets of such hosts, by network identifier. */
  readonly untrackedPackets: Float64Array;
  /** Counts that did not fit into the window's journal: they are in the sums, and leave them one bucket late. */
  readonly deferredRows: number;
  readonly memoryBytes: number;
  /** Hosts that heavier ones replaced in the full table, and rows that queues took from light hosts for others. */
  readonly replacedHosts: number;
  readonly evictedRows: number;
}

export interface Engine {
  /** Takes effect within one tick, while traffic runs; hosts outside the new networks are removed. */
  setNetworks(table: NetworksTable): void;
  /**
   * For each group 26 values: 13 incoming, then 13 outgoing. readScreened returns hosts with a rate at or above their
   * group's value; Infinity is off.
   */
  setScreens(screens: Float64Array): void;
  /** Hosts that are returned and sampled whatever their rates: 16 bytes each, at most WATCHED_HOSTS_MAX. */
  setWatched(addresses: Uint8Array): void;
  /**
   * Throws an Error that names interface and remedy. An `xdp_inline` source on an interface of the filter counts and
   * filters in one program, in this order; it must be opened after the filter was attached.
   */
  openSource(options: SourceOptions, filter?: Filter | null): Source;
  /** Throws an Error that names port and remedy. */
  openFlowSource(options: FlowSourceOptions): FlowSource;
  openReplay(path: string, options?: Decapsulation): Replay;
  /**
   * Folds all workers' counts into the windows on a thread of its own. Only one call at a time. Not with the capture
   * clock.
   */
  tick(): Promise<TickSummary>;
  /** Rows screened by the last fold. Returns their number; writes only the first `capacity`. */
  readScreened(out: HostRows): number;
  /**
   * Between two ticks: rows of hosts that have reached their group's screen since the last fold, or have risen further
   * beyond it, and are not watched. A host is returned again only after a further rise. The windows do not change, and
   * the next tick finds these rates at least. Returns the number of rows. Throws while a tick runs.
   */
  readRising(out: HostRows): number;
  /** All hosts in chunks: start with cursor 0 and continue with `next`; -1 is the end. */
  readHosts(cursor: number, out: HostRows): { readonly next: number; readonly count: number };
  /** Reads one host; false if it is unknown. */
  readHost(address: Uint8Array, out: HostRows): boolean;
  /**
   * The counts of each watched host in the last fold; before that, of a host that is newly watched, what the window had
   * of it, by fold, oldest first. Writes the rows from `first` on that fit. Returns the number of all rows.
   */
  readCounts(first: number, out: CountRows): number;
  /** Sums by group: row i is group i; addresses are zero. */
  readGroups(out: HostRows): number;
  /**
   * Recent headers of packets to or from a host, or to or from hosts that agree with it in the first `length` bits (96
   * more than an IPv4 prefix has; 128 by default), newest last, unbiased. Where not all fit, the newest are taken,
   * those of one tick evenly from all workers. Returns how many were written. A record is a SAMPLE_RECORD: what its
   * fields say is in addon/abi/record_abi.h.
   */
  readSamples(address: Uint8Array, out: Uint8Array, length?: number): number;
  /**
   * The same for many places in one pass: SAMPLE_PLACE records that say of which hosts and of which direction. The
   * records of the first place come first, of each place at most `each`; `counts` says how many of each place there
   * are. Places beyond the room in `out` have none. Returns the number of all.
   */
  readSamplesOf(places: Uint8Array, out: Uint8Array, counts: Uint32Array, each: number): number;
  /** As readSamplesOf() on a thread of its own. `out` and `counts` must be left alone until the promise is settled. */
  readSamplesOfAsync(places: Uint8Array, out: Uint8Array, counts: Uint32Array, each: number): Promise<number>;
  /** Longest time from an attack's begin to its detection: younger packets are not part of a host's profile. */
  setProfileDelay(ms: number): void;
  /**
   * Packets that the host received before it was attacked, as PROFILE_RECORDs, as far as they fit. Returns their
   * number.
   */
  readProfile(address: Uint8Array, out: Uint8Array): number;
  /** All profiles in chunks, as readHosts(), as PROFILE_ROWs. A host that several workers count has several. */
  readProfiles(cursor: number, out: Uint8Array): { readonly next: number; readonly count: number };
  /** From the next tick on, keeps what takeIntervals() gives: 24 bytes for each host and direction, 36 of sampled traffic. */
  keepIntervals(): void;
  /**
   * Counts of hosts since they were last taken, in chunks as readHosts(); hosts without packets are left out. Counts
   * that were taken start again from zero. Hosts that leave a crowded table are lost.
   */
  takeIntervals(cursor: number, out: IntervalRows): { readonly next: number; readonly count: number };
  /** As takeIntervals() for one host, without taking; false if it had no packets. */
  readInterval(address: Uint8Array, out: IntervalRows): boolean;
  /**
   * Learns from some ten thousand hosts, and sums them by prefix unless `sums` is null: start with cursor 0 and
   * continue with the result; -1 is the end. Both must be the addon's. Only one slice at a time.
   */
  learnHosts(rates: LearnedRates, sums: PrefixSums | null, cursor: number): number;
  /** As learnHosts() on a thread of the pool. */
  learnHostsAsync(rates: LearnedRates, sums: PrefixSums | null, cursor: number): Promise<number>;
  stats(): EngineStats;
  close(): void;
}

export interface BaselinesOptions {
  /** The maximum number of hosts and hostgroups; memory follows their number. */
  readonly capacity: number;
  /** 1: incoming only. */
  readonly directions: 1 | 2;
}

export interface FilterOptions {
  /** A path on a BPF file system. */
  readonly pinPath: string;
  readonly interfaces: readonly string[];
  readonly xdpMode: XdpMode;
  /** Bounds of the tables; `maxPrefixes` of each list. With other bounds than those pinned, the maps are created again. */
  readonly maxPairs: number;
  readonly maxRules: number;
  readonly maxPrefixes: number;
  /** Sources that the kernel knows, at 16 bytes each. */
  readonly maxSources: number;
  /** null: what passes is the kernel's to forward. */
  readonly forward: ForwardOptions | null;
}

export interface ForwardOptions {
  /** At most FORWARD_TUNNELS_MAX. */
  readonly tunnels: readonly TunnelOptions[];
}

export interface TunnelOptions {
  readonly kind: (typeof TUNNEL_KINDS)[number];
  /** Both of one family. */
  readonly local: Uint8Array;
  readonly remote: Uint8Array;
  /** The key of GRE, null for none; the VNI of VXLAN. */
  readonly key: number | null;
  /** For VXLAN; otherwise not used. */
  readonly port: number;
  /** 6 bytes, of VXLAN: the far end's; otherwise zeros. */
  readonly mac: Uint8Array;
  /** MTU of the packet within, bytes; and the largest MSS of its segments, IPv4 and IPv6. */
  readonly mtu: number;
  readonly mss4: number;
  readonly mss6: number;
  /** Destinations: 16 bytes and a length per prefix. */
  readonly addresses: Uint8Array;
  readonly lengths: Uint8Array;
}

/** Exactly one for each packet that the filter passed; bytes are those of the frame as it arrived. */
export type ForwardOutcome = (typeof FORWARD_OUTCOMES)[number];
export interface ForwardCounts {
  readonly outcomes: Readonly<Record<ForwardOutcome, { readonly packets: number; readonly bytes: number }>>;
  /** Segments whose MSS was lowered. */
  readonly clamped: number;
}
export interface ForwardStatus extends ForwardCounts {
  /** Interfaces that packets can be redirected to now. */
  readonly egress: readonly string[];
  /** Routes are kept for some milliseconds, since they depend on the destination alone. */
  readonly keepsRoutes: boolean;
}

export interface FilterInterface {
  readonly name: string;
  readonly state: "attached" | "failed";
  /** "native", "generic", or "generic (why not native)"; null while not attached. */
  readonly mode: string | null;
  /** Interface, cause and remedy; also for an attached one that cannot receive frames. Retried once a second. */
  readonly error: string | null;
}

/** Exactly one for each packet; bytes are those of the frame. */
export type FilterVerdict = (typeof FILTER_VERDICTS)[number];
export type FilterVerdicts = Readonly<Record<FilterVerdict, { readonly packets: number; readonly bytes: number }>>;

export interface FilterStatus {
  readonly schema: number;
  /** `adopted`: the maps of the process before. `replaced`: those had another schema or other bounds. */
  readonly origin: (typeof FILTER_ORIGINS)[number];
  readonly interfaces: readonly FilterInterface[];
  /** Counts since the maps were created, which may be before the start of this process. */
  readonly verdicts: FilterVerdicts;
  readonly pairs: number;
  readonly rules: number;
  readonly maxPairs: number;
  readonly maxRules: number;
  readonly maxSources: number;
  /** Counts since this process opened the filter; null: the kernel forwards. */
  readonly forward: ForwardStatus | null;
}

/** All methods throw an Error with the remedy when the kernel refuses, and then change nothing. */
export interface Filter {
  /** Attaches the filled tables on all interfaces. Until then the filter that was pinned before stays in force. */
  attach(): void;
  /** 32 bytes per pair: source, victim; and the wall time of each expiry. */
  putPairs(addresses: Uint8Array, expiresAtMs: Float64Array): void;
  removePairs(addresses: Uint8Array): void;
  /** 32 bytes per pair, and 3 values: wall time of the expiry, packets, bytes. Start with 0, -1 is the end. */
  readPairs(
    cursor: number,
    addresses: Uint8Array,
    rows: Float64Array,
  ): { readonly next: number; readonly count: number };
  /** The 3 values of each of these pairs; NaN: it is not there. 32 bytes per pair. */
  readPairsOf(addresses: Uint8Array, rows: Float64Array): void;
  /**
   * All rules, each a RULE_RECORD in the machine's byte order: what its fields say is in addon/abi/record_abi.h.
   * Identifiers have at most FILTER_RULE_ID_BYTES_MAX bytes and differ. `details` are DETAILS_RECORD each, of which
   * rules name theirs. Rules that `operatorEntries` name, OPERATOR_ENTRY each, are the operator's.
   */
  setRules(ids: readonly string[], rules: Uint8Array, details: Uint8Array, operatorEntries: Uint8Array): void;
  /**
   * 8 values per rule: wall time of the expiry, packets and bytes that it matched, packets and bytes of those dropped,
   * packets and bytes of those answered, and sources that proved their address.
   */
  readRules(): { readonly ids: readonly string[]; readonly rows: Float64Array };
  /**
   * Replaces the destinations whose packets are counted by outcome: 16 bytes each. One that stays keeps its counts, one
   * that is new begins at zero, those beyond WATCHED_DESTINATIONS_MAX are not watched.
   */
  watchDestinations(addresses: Uint8Array): void;
  /** Packets and bytes of each of PACKET_OUTCOMES, for each watched destination in order; NaN: it is not watched. */
  readOutcomes(counts: Float64Array): void;
  /** 16 bytes and a length per prefix. */
  setAllowlist(addresses: Uint8Array, lengths: Uint8Array): void;
  setWhitelist(addresses: Uint8Array, lengths: Uint8Array): void;
  /** Puts all named sets in force at once in place of those before. Waits some milliseconds for the kernel. */
  setNamedSets(sets: NamedSets): void;
  /** As setNamedSets(), off the event loop. The filter may be closed meanwhile. */
  exchangeNamedSets(sets: NamedSets): Promise<void>;
  /** Destinations that are forwarded beside those of tunnels; null, null: all. Nothing where the kernel forwards. */
  setForwardNetworks(addresses: Uint8Array | null, lengths: Uint8Array | null): void;
  status(): FilterStatus;
  /** Runs the filter over one frame, as if it had arrived, and counts it: for tests. */
  drops(frame: Uint8Array): boolean;
  /** `keep`: all stays in force without this process, until it expires. `detach`: all is removed. */
  close(end: (typeof FILTER_ENDS)[number]): void;
}

/** A named set of prefixes: 16 bytes of address and a length per prefix; what is beyond a prefix is not read. */
export interface NamedPrefixes {
  /** 1 to 63 bytes. */
  readonly name: string;
  /** 0 to 63, and of no other set: the bit by which rules name the set. */
  readonly bit: number;
  readonly addresses: Uint8Array;
  readonly lengths: Uint8Array;
}

/** All named sets together in the kernel's memory, in force only where a filter has them. */
export interface NamedSets {
  /** Prefixes as given, ranges of addresses that differ in their sets, and bytes in the kernel. */
  size(): { readonly prefixes: number; readonly ranges: number; readonly bytes: number };
  /** A filter that has them in force keeps them. */
  close(): void;
}

export interface PinnedFilter {
  /** `detached`: there are maps, but no program on an interface that should have one. */
  readonly state: (typeof PINNED_STATES)[number];
  /** `v1`, and others that an older or newer version left. */
  readonly schemas: readonly string[];
  /** Interfaces, and the id of the program on each; 0 for none. */
  readonly links: readonly { readonly name: string; readonly program: number }[];
  readonly pairs: number;
  readonly rules: number;
  /** By bit; "": none. */
  readonly namedSets: readonly string[];
  readonly verdicts: FilterVerdicts;
  /** null: the kernel forwards. */
  readonly forward: ForwardCounts | null;
  /** Whether a running process owns it. */
  readonly isOwned: boolean;
}

export interface ConnectionCount {
  readonly open: number;
  readonly closedOfAddress: number;
  readonly closedOfTotal: number;
}

export interface Native {
  /** Throws RangeError on options out of bounds. */
  openEngine(options: EngineOptions): Engine;
  openBaselines(options: BaselinesOptions): LearnedRates;
  /** @param capacity the maximum number of prefixes. */
  openPrefixSums(capacity: number): PrefixSums;
  /** Adopts the pinned maps, or creates them. Throws an Error with the remedy. Only one process for each pin path. */
  openFilter(options: FilterOptions): Filter;
  /**
   * Makes named sets on a thread of the pool: about a second for a million prefixes. Rejects with an Error that names
   * the remedy: more than NAMED_PREFIXES_MAX, more memory than 256 MiB, two sets with one bit, no permission.
   */
  buildNamedSets(sets: readonly NamedPrefixes[]): Promise<NamedSets>;
  /** The pinned state, whether or not a service runs; changes nothing. */
  readPinnedFilter(pinPath: string): PinnedFilter;
  /**
   * Whether this kernel accepts a program: loads it with small maps and without attaching it, and unloads it, on a
   * thread of the pool. A refusal is in the result; it does not reject.
   */
  probeProgram(variant: ProgramVariant): Promise<ProgramProbe>;
  /** Reads the properties of an interface without changing it; null: it does not exist. On a thread of the pool. */
  readInterface(name: string): Promise<InterfaceFindings | null>;
  /** Reads the properties of the kernel and of this process, and of the pin path if given. */
  readKernel(pinPath: string | null): KernelFindings;
  /**
   * Resets accepted connections of this process's listener at `port` that are over `perAddress` (an IPv4 address or an
   * IPv6 /64; loopback has no such bound) or over `total` (half of the limit of descriptors where that is less): of the
   * peers that have the most, those that sent nothing, the oldest first, then those silent the longest. On the event
   * loop.
   */
  limitConnections(cap: {
    readonly port: number;
    readonly total: number;
    readonly perAddress: number;
  }): ConnectionCount;
  /**
   * Executes this process again, with the same arguments and environment, if it has one of these capabilities (numbers
   * of linux/capability.h) as an ambient one, and is not root's: without them. Else returns.
   */
  dropCapabilities(options: { readonly capabilities: readonly number[] }): void;
}
