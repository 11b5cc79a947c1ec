/**
 * One tick: reads the rows that the packet counter screened, judges them, and sets the hosts that the counter must
 * watch. Between ticks: judges hosts that rise. Used by live detection and replay.
 */
import { ACTIVE_ATTACKS_MAX } from "../../limits.ts";
import { addressToBytes } from "../../net/address.ts";
import type { Now } from "../../system/now.ts";
import { allocateCountRows, type CountRows } from "../../traffic/count-rows.ts";
import { allocateHostRows, type HostRows } from "../../traffic/host-rows.ts";
import type { AttackChange, Detector } from "./detector.ts";

/** The part of the packet counter that is used. */
export interface ScreenedRates {
  /** Returns the number of rows; writes the first `capacity`, watched hosts first. */
  readScreened(out: HostRows): number;
  /** Hosts that have risen since the last tick. Returns the number of rows. */
  readRising(out: HostRows): number;
  /** Counts of the watched hosts since the last tick, and older ones of those newly watched. Returns their number. */
  readCounts(first: number, out: CountRows): number;
  /** Sums by hostgroup: row i is group i. Returns the number of groups. */
  readGroups(out: HostRows): number;
  /** 16 bytes per host. */
  setWatched(addresses: Uint8Array): void;
}

/** Counts what becomes of the packets to watched hosts, see src/dataplane/outcome-counts.ts. */
export interface WatchedOutcomes {
  /** 16 bytes per host. */
  watch(addresses: Uint8Array): void;
  /** Reads what was counted until now. */
  read(): void;
}

/** Read in one crossing; enough for all attacked hosts of most networks. */
const COUNT_ROWS = 512;

export class TickJudge {
  readonly #source: ScreenedRates;
  readonly #detector: Detector;
  readonly #rows: HostRows;
  #groups: HostRows = allocateHostRows(0);
  /** Those that are watched. */
  #suspects = "";
  readonly #counts = allocateCountRows(COUNT_ROWS);
  readonly #outcomes: WatchedOutcomes | null;
  /** Total number of screened rows that did not fit and were not judged. */
  overflow = 0;

  constructor(source: ScreenedRates, detector: Detector, capacity: number, outcomes: WatchedOutcomes | null = null) {
    this.#source = source;
    this.#outcomes = outcomes;
    this.#detector = detector;
    this.#rows = allocateHostRows(capacity);
  }

  judge(now: Now): AttackChange[] {
    const screened = this.#source.readScreened(this.#rows);
    const count = Math.min(screened, this.#rows.capacity);
    this.overflow += screened - count;
    this.measure(now);
    const changes = this.#detector.judge(this.#rows, count, now, this.#sums());
    const suspects = this.#detector.suspectedHosts().join();
    const areOthers = suspects !== this.#suspects;
    this.#suspects = suspects;
    if (areOthers || changes.some(({ kind }) => kind !== "lasts")) this.watchAttacked();
    return changes;
  }

  /** Attacks that start between two ticks. Do not call it while the counter folds. */
  judgeRising(now: Now): AttackChange[] {
    if (!this.#detector.startsBetweenTicks) return [];
    const count = this.#source.readRising(this.#rows);
    if (count === 0) return [];
    const changes = this.#detector.judgeRising(this.#rows, count, now);
    if (changes.length > 0) this.watchAttacked();
    return changes;
  }

  /** Takes the counts of attacked hosts. judge() begins with it, so that an attack that ends has its last tick. */
  measure(now: Now): void {
    this.#outcomes?.read();
    for (let first = 0, all = 1; first < all; first += COUNT_ROWS) {
      all = this.#source.readCounts(first, this.#counts);
      this.#detector.measure(this.#counts, Math.min(all - first, COUNT_ROWS), now);
    }
    this.#detector.meters.settle();
  }

  /** null: no whole hostgroup is judged. */
  #sums(): HostRows | null {
    const { groupsToRead } = this.#detector;
    if (groupsToRead === 0) return null;
    if (this.#groups.capacity !== groupsToRead) this.#groups = allocateHostRows(groupsToRead);
    this.#source.readGroups(this.#groups);
    return this.#groups;
  }

  /** Call this once after attacks were restored: what was kept from their targets before is no part of what is counted. */
  watchRestored(): void {
    this.#watchTargets();
    this.#outcomes?.read();
    this.#detector.meters.begin(this.#detector.active.values());
  }

  watchAttacked(): void {
    this.#watchTargets();
    this.#detector.meters.begin(this.#detector.active.values());
  }

  #watchTargets(): void {
    const { active } = this.#detector;
    const targets = [...new Set([...active.targets(), ...this.#detector.suspectedHosts()])].slice(
      0,
      ACTIVE_ATTACKS_MAX,
    );
    const addresses = new Uint8Array(targets.length * 16);
    targets.forEach((target, i) => {
      addresses.set(addressToBytes(target), i * 16);
    });
    this.#source.setWatched(addresses);
    this.#outcomes?.watch(addresses);
  }
}
