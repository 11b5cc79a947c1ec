/**
 * One tick: reads the rows that the packet counter screened, judges them, and sets the hosts that the counter must
 * watch. Between ticks: judges hosts that rise. Used by live detection and replay.
 */
import { addressToBytes } from "../../net/address.ts";
import { allocateHostRows, type HostRows } from "../../traffic/host-rows.ts";
import type { Now } from "../attack/attack.ts";
import type { AttackChange, Detector } from "./detector.ts";

/** The part of the packet counter that is used. */
export interface ScreenedRates {
  /** Returns the number of rows; writes the first `capacity`, watched hosts first. */
  readScreened(out: HostRows): number;
  /** Hosts that have risen since the last tick. Returns the number of rows. */
  readRising(out: HostRows): number;
  /** Sums by hostgroup: row i is group i. Returns the number of groups. */
  readGroups(out: HostRows): number;
  /** 16 bytes per host. */
  setWatched(addresses: Uint8Array): void;
}

export class TickJudge {
  readonly #source: ScreenedRates;
  readonly #detector: Detector;
  readonly #rows: HostRows;
  #groups: HostRows = allocateHostRows(0);
  /** Total number of screened rows that did not fit and were not judged. */
  overflow = 0;

  constructor(source: ScreenedRates, detector: Detector, capacity: number) {
    this.#source = source;
    this.#detector = detector;
    this.#rows = allocateHostRows(capacity);
  }

  judge(now: Now): AttackChange[] {
    const screened = this.#source.readScreened(this.#rows);
    const count = Math.min(screened, this.#rows.capacity);
    this.overflow += screened - count;
    const changes = this.#detector.judge(this.#rows, count, now, this.#sums());
    if (changes.some(({ kind }) => kind !== "lasts")) this.watchAttacked();
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

  /** null: no whole hostgroup is judged. */
  #sums(): HostRows | null {
    const { groupsToRead } = this.#detector;
    if (groupsToRead === 0) return null;
    if (this.#groups.capacity !== groupsToRead) this.#groups = allocateHostRows(groupsToRead);
    this.#source.readGroups(this.#groups);
    return this.#groups;
  }

  /** Also call this once after attacks were restored. */
  watchAttacked(): void {
    const targets = [...this.#detector.active.targets()];
    const addresses = new Uint8Array(targets.length * 16);
    targets.forEach((target, i) => {
      addresses.set(addressToBytes(target), i * 16);
    });
    this.#source.setWatched(addresses);
  }
}
