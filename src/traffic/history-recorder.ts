/**
 * Takes what all hosts had in each interval, in slices, so that it does not block other work: exact sums, and the
 * highest rates of all ticks. Nothing is lost between two intervals: what one does not have, the next one has. Keeps
 * what is not stored yet, so that it can be read too.
 */

import { addressToBytes, type IpAddress, parseAddress } from "../net/address.ts";
import type { Now } from "../system/now.ts";
import { AddressIndex } from "./address-index.ts";
import { BusiestRows } from "./busiest-rows.ts";
import type { HostRows } from "./host-rows.ts";
import { allocateIntervalRows, type IntervalRows } from "./interval-rows.ts";
import type { Direction } from "./rates.ts";
import { type RecentPart, rowIn } from "./recent-traffic.ts";
import { type SummedGroup, TotalRates } from "./total-rates.ts";
import type { TotalRow, TrafficSnapshot } from "./traffic-history.ts";
import { isPartSeries } from "./traffic-parts.ts";

/** Structurally the addon's Engine, which this folder must not import. */
interface IntervalReader {
  keepIntervals(): void;
  takeIntervals(cursor: number, out: IntervalRows): { readonly next: number; readonly count: number };
  readInterval(address: Uint8Array, out: IntervalRows): boolean;
}

interface AttackedTarget {
  /** null: a hostgroup. */
  readonly target: IpAddress | null;
  readonly direction: Direction;
}

/** Attacks that start in one interval and are marked though they end in it, at most. */
const STARTED_MAX = 16_384;

export interface HistoryRecorderOptions {
  readonly intervalSeconds: number;
  /** Over which the rates of hostgroups are computed. */
  readonly windowMs: number;
  /** Maximum number of rows of one snapshot. */
  readonly rowsMax: number;
  readonly hosts: IntervalReader;
  /** Attacks in progress. */
  readonly attacks: () => Iterable<AttackedTarget>;
  /** The parts of an interval's totals; absent: they are not recorded. */
  readonly partsOf?: (totals: readonly TotalRow[]) => readonly TotalRow[];
  /** The learned packet rate of a row; null: nothing was learned. */
  /** Called before `baselinePps` of these rows. */
  readonly readBaselines: (rows: IntervalRows, count: number) => void;
  readonly baselinePps: (rows: IntervalRows, row: number, direction: Direction) => number | null;
  /** Runs `fn` once in `ms`; returns a function that cancels it. */
  readonly after: (ms: number, fn: () => void) => () => void;
  /** Lets other work run between two slices. */
  readonly nextTurn: () => Promise<void>;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  /** Resolves when the snapshot is stored, or lost. */
  readonly onSnapshot: (snapshot: TrafficSnapshot) => Promise<unknown>;
  /** Reports rows that were omitted from a snapshot. */
  readonly onCut: (rows: number) => void;
  readonly onFault: (cause: unknown) => void;
}

/** Hosts of one slice: about 1 ms. */
const SLICE_ROWS = 4096;
/** A timer may run a little before its time. */
const EARLY_MS = 100;

/** An interval that is shorter is read and stored as one of this length, with the same sums. */
const LEAST_SECONDS = 1;

export class HistoryRecorder {
  readonly #options: HistoryRecorderOptions;
  readonly #busiest: BusiestRows;
  readonly #rows: IntervalRows = allocateIntervalRows(SLICE_ROWS);
  readonly #one: IntervalRows = allocateIntervalRows(1);
  readonly #totals: TotalRates;
  /** Snapshots that are not stored yet, oldest first; the store bounds them. */
  readonly #unstored = new Set<TrafficSnapshot>();
  #interval: Now;
  #tickMs: number;
  /** Targets attacked in the interval before: an attack that has ended since then was in this one too. */
  #attacked = new Attacked([]);
  /** Started in the present interval. */
  readonly #started = new Map<string, AttackedTarget>();
  #cancel: () => void = () => {};
  #taking: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: HistoryRecorderOptions) {
    this.#options = options;
    this.#busiest = new BusiestRows(options.rowsMax);
    this.#totals = new TotalRates(options.windowMs);
    this.#interval = { wallMs: options.wallMs(), monotonicMs: options.monotonicMs() };
    this.#tickMs = this.#interval.monotonicMs;
  }

  start(): void {
    const { hosts, wallMs, monotonicMs } = this.#options;
    hosts.keepIntervals();
    this.#interval = { wallMs: wallMs(), monotonicMs: monotonicMs() };
    this.#tickMs = this.#interval.monotonicMs;
    this.#schedule();
  }

  /** It may be over before the interval is. */
  attackStarted({ target, direction }: AttackedTarget): void {
    if (this.#started.size < STARTED_MAX) this.#started.set(`${direction} ${target}`, { target, direction });
  }

  /** The rates of all hostgroups after a tick. */
  ticked(groups: HostRows, hostgroups: readonly SummedGroup[]): void {
    const nowMs = this.#options.monotonicMs();
    this.#totals.setHostgroups(hostgroups);
    this.#totals.add(groups, (nowMs - this.#tickMs) / 1000);
    this.#tickMs = nowMs;
  }

  /** Resolves when the last interval, which is shorter, was handed over, and no more hosts are read. */
  async stop(): Promise<void> {
    if (this.#isStopped) return this.#taking ?? undefined;
    this.#isStopped = true;
    this.#cancel();
    await this.#taking;
    this.#taking = this.#take();
    await this.#taking;
  }

  /**
   * The part of a series that is not stored yet, oldest first, with the present interval so far as the last; of a part
   * of the traffic without that.
   */
  async recent(key: string, direction: Direction): Promise<RecentPart[]> {
    // Meanwhile some hosts are in one interval, some in the next one.
    await this.#taking;
    const parts = [...this.#unstored].map((snapshot) => rowIn(snapshot, key, direction));
    if (isPartSeries(key)) return parts;
    // Folds do not end with the interval: what a tick counted before it began would be a high rate of a shorter one.
    const seconds = this.#elapsedSeconds();
    const present = () => this.#present(key, Math.max(seconds, LEAST_SECONDS));
    return seconds > 0 ? [...parts, rowIn(present(), key, direction)] : parts;
  }

  #present(key: string, seconds: number): TrafficSnapshot {
    const address = parseAddress(key);
    this.#busiest.clear();
    if (address !== null && this.#options.hosts.readInterval(addressToBytes(address), this.#one)) {
      this.#add(this.#one, 0, this.#attackedNow());
    }
    return this.#busiest.snapshot(this.#beganSeconds(), seconds, this.#totals.rows(seconds));
  }

  /** At multiples of the interval by the wall clock, so that buckets of a query hold whole intervals. */
  #schedule(): void {
    if (this.#isStopped) return;
    const ms = this.#options.intervalSeconds * 1000;
    const nowMs = this.#options.wallMs();
    const dueMs = (Math.floor((nowMs + Math.min(EARLY_MS, ms / 4)) / ms) + 1) * ms;
    this.#cancel = this.#options.after(dueMs - nowMs, () => {
      this.#taking = this.#take().finally(() => {
        this.#taking = null;
        this.#schedule();
      });
    });
  }

  async #take(): Promise<void> {
    const { onSnapshot, onCut, onFault, wallMs, monotonicMs } = this.#options;
    try {
      const elapsed = this.#elapsedSeconds();
      const [atSeconds, seconds] = [this.#beganSeconds(), Math.max(elapsed, LEAST_SECONDS)];
      const attacked = this.#attackedNow();
      this.#started.clear();
      this.#busiest.clear();
      const sums = this.#totals.rows(seconds);
      const totals = [...sums, ...(this.#options.partsOf?.(sums) ?? [])];
      this.#totals.clear();
      this.#interval = { wallMs: wallMs(), monotonicMs: monotonicMs() };
      await this.#takeAll(attacked);
      this.#attacked = new Attacked(this.#options.attacks());
      if (elapsed === 0) return;
      const snapshot = this.#busiest.snapshot(atSeconds, seconds, totals);
      if (this.#busiest.cut > 0) onCut(this.#busiest.cut);
      this.#unstored.add(snapshot);
      void onSnapshot(snapshot).then(() => this.#unstored.delete(snapshot));
    } catch (cause) {
      onFault(cause);
    }
  }

  async #takeAll(attacked: Attacked): Promise<void> {
    const { hosts, nextTurn } = this.#options;
    for (let cursor = 0; ; ) {
      const { next, count } = hosts.takeIntervals(cursor, this.#rows);
      this.#options.readBaselines(this.#rows, count);
      for (let row = 0; row < count; row++) this.#add(this.#rows, row, attacked);
      if (next < 0) return;
      cursor = next;
      await nextTurn();
    }
  }

  #add(rows: IntervalRows, row: number, attacked: Attacked): void {
    const { baselinePps } = this.#options;
    for (const direction of ["incoming", "outgoing"] as const) {
      this.#busiest.add(rows, row, {
        outgoing: direction === "outgoing",
        inAttack: attacked.has(rows, row, direction),
        baselinePps: baselinePps(rows, row, direction),
      });
    }
  }

  #attackedNow(): Attacked {
    return new Attacked([...this.#options.attacks(), ...this.#started.values()], this.#attacked);
  }

  #beganSeconds(): number {
    return Math.round(this.#interval.wallMs / 1000);
  }

  #elapsedSeconds(): number {
    return (this.#options.monotonicMs() - this.#interval.monotonicMs) / 1000;
  }
}

/** The hosts that were attacked in an interval. */
class Attacked {
  readonly #hosts: Readonly<Record<Direction, AddressIndex>>;

  constructor(attacks: Iterable<AttackedTarget>, before: Attacked | null = null) {
    const hostsOf = (direction: Direction) =>
      new AddressIndex(before === null ? [] : before.#hosts[direction].values());
    this.#hosts = { incoming: hostsOf("incoming"), outgoing: hostsOf("outgoing") };
    for (const { target, direction } of attacks) if (target !== null) this.#hosts[direction].add(target);
  }

  has(rows: IntervalRows, row: number, direction: Direction): boolean {
    return this.#hosts[direction].find(rows.addresses, row) !== null;
  }
}
