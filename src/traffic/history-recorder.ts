/**
 * Takes a snapshot of the rates of all hosts at each interval, in slices, so that it does not block other work. Rates
 * are those of the detection window at that moment: peaks between two snapshots are not recorded.
 */
import { addressToBytes, type IpAddress } from "../net/address.ts";
import { BusiestRows } from "./busiest-rows.ts";
import { addressTail, allocateHostRows, type HostRows, rowAddress } from "./host-rows.ts";
import type { Direction } from "./rates.ts";
import type { TrafficSnapshot } from "./traffic-history.ts";

/** Structurally the addon's Engine, which this folder must not import. */
export interface HostReader {
  readHosts(cursor: number, out: HostRows): { readonly next: number; readonly count: number };
}

export interface HistoryRecorderOptions {
  readonly intervalSeconds: number;
  /** Maximum number of rows of one snapshot. */
  readonly rowsMax: number;
  readonly hosts: HostReader;
  /** Attacks in progress. */
  readonly attacks: () => Iterable<{ readonly target: IpAddress | null; readonly direction: Direction }>;
  /** The learned packet rate of a row; null: nothing was learned. */
  readonly baselinePps: (rows: HostRows, row: number, direction: Direction) => number | null;
  /** Runs `fn` every `ms`; returns a function that cancels it. */
  readonly every: (ms: number, fn: () => void) => () => void;
  /** Lets other work run between two slices. */
  readonly nextTurn: () => Promise<void>;
  readonly wallMs: () => number;
  readonly onSnapshot: (snapshot: TrafficSnapshot) => void;
  /** Reports rows that were omitted from a snapshot. */
  readonly onCut: (rows: number) => void;
  readonly onFault: (cause: unknown) => void;
}

/** Hosts of one slice: about 1 ms. */
export const SLICE_ROWS = 4096;

export class HistoryRecorder {
  readonly #options: HistoryRecorderOptions;
  readonly #busiest: BusiestRows;
  readonly #rows: HostRows = allocateHostRows(SLICE_ROWS);
  #cancel: () => void = () => {};
  #taking: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: HistoryRecorderOptions) {
    this.#options = options;
    this.#busiest = new BusiestRows(options.rowsMax);
  }

  start(): void {
    const { every, intervalSeconds } = this.#options;
    this.#cancel = every(intervalSeconds * 1000, () => {
      // A second snapshot would read the same hosts.
      this.#taking ??= this.#take().finally(() => {
        this.#taking = null;
      });
    });
  }

  /** Resolves when no more hosts are read. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#taking;
  }

  async #take(): Promise<void> {
    const { wallMs, intervalSeconds, onSnapshot, onCut, onFault } = this.#options;
    try {
      const atSeconds = Math.floor(wallMs() / 1000);
      this.#busiest.clear();
      if (!(await this.#readAll())) return;
      const snapshot = this.#busiest.snapshot(atSeconds, intervalSeconds);
      if (this.#busiest.cut > 0) onCut(this.#busiest.cut);
      onSnapshot(snapshot);
    } catch (cause) {
      onFault(cause);
    }
  }

  /** False if stop() was called meanwhile. */
  async #readAll(): Promise<boolean> {
    const { hosts, nextTurn } = this.#options;
    const attacked = new Attacked(this.#options.attacks());
    for (let cursor = 0; ; ) {
      const { next, count } = hosts.readHosts(cursor, this.#rows);
      for (let row = 0; row < count; row++) this.#add(row, attacked);
      if (next < 0) return true;
      cursor = next;
      await nextTurn();
      if (this.#isStopped) return false;
    }
  }

  #add(row: number, attacked: Attacked): void {
    const { baselinePps } = this.#options;
    for (const direction of ["incoming", "outgoing"] as const) {
      this.#busiest.add(this.#rows, row, {
        outgoing: direction === "outgoing",
        inAttack: attacked.has(this.#rows, row, direction),
        baselinePps: baselinePps(this.#rows, row, direction),
      });
    }
  }
}

/** Called for each row: comparing four bytes excludes nearly all hosts. */
class Attacked {
  readonly #targets: Record<Direction, Set<IpAddress>> = { incoming: new Set(), outgoing: new Set() };
  readonly #tails = new Set<number>();

  constructor(attacks: Iterable<{ readonly target: IpAddress | null; readonly direction: Direction }>) {
    for (const { target, direction } of attacks) {
      if (target === null) continue;
      this.#targets[direction].add(target);
      this.#tails.add(addressTail(addressToBytes(target), 0));
    }
  }

  has(rows: HostRows, row: number, direction: Direction): boolean {
    if (this.#tails.size === 0 || !this.#tails.has(addressTail(rows.addresses, row))) return false;
    return this.#targets[direction].has(rowAddress(rows, row));
  }
}
