/**
 * One tick: takes the rows that the packet counter screened, has them judged, and tells the counter which hosts to
 * watch. Live detection and replay run through here alike.
 */
import { addressToBytes } from "../../net/address.ts";
import { allocateHostRows, type HostRows } from "../../traffic/host-rows.ts";
import type { Now } from "../attack/attack.ts";
import type { AttackChange, Detector } from "./detector.ts";

/** What is needed of the packet counter. */
export interface ScreenedRates {
  /** Returns how many rows there are; the first `capacity` are written, watched hosts before all others. */
  readScreened(out: HostRows): number;
  /** Sums by hostgroup: row i is group i. Returns how many groups there are. */
  readGroups(out: HostRows): number;
  /** 16 bytes a host. */
  setWatched(addresses: Uint8Array): void;
}

export class TickJudge {
  readonly #source: ScreenedRates;
  readonly #detector: Detector;
  readonly #rows: HostRows;
  #groups: HostRows = allocateHostRows(0);
  /** Screened rows that found no place and were not judged, in all ticks. */
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

  /** null: no hostgroup is judged as a whole. */
  #sums(): HostRows | null {
    const { groupsToRead } = this.#detector;
    if (groupsToRead === 0) return null;
    if (this.#groups.capacity !== groupsToRead) this.#groups = allocateHostRows(groupsToRead);
    this.#source.readGroups(this.#groups);
    return this.#groups;
  }

  /** Also needed once after attacks were restored. */
  watchAttacked(): void {
    const targets = [...this.#detector.active.targets()];
    const addresses = new Uint8Array(targets.length * 16);
    targets.forEach((target, i) => {
      addresses.set(addressToBytes(target), i * 16);
    });
    this.#source.setWatched(addresses);
  }
}
