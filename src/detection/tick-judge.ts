/**
 * One tick: takes the rows that the packet counter screened, has them judged, and tells the counter which hosts to
 * watch. Live detection and replay run through here alike.
 */
import { addressToBytes } from "../net/address.ts";
import { allocateHostRows, type HostRows } from "../traffic/host-rows.ts";
import type { Now } from "./attack.ts";
import type { AttackChange, Detector } from "./detector.ts";

/** What is needed of the packet counter. */
export interface ScreenedRates {
  /** Returns how many rows there are; the first `capacity` are written, watched hosts before all others. */
  readScreened(out: HostRows): number;
  /** 16 bytes a host. */
  setWatched(addresses: Uint8Array): void;
}

export class TickJudge {
  readonly #source: ScreenedRates;
  readonly #detector: Detector;
  readonly #rows: HostRows;
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
    const changes = this.#detector.judge(this.#rows, count, now);
    if (changes.some(({ kind }) => kind !== "lasts")) this.watchAttacked();
    return changes;
  }

  /** Also needed once after attacks were restored. */
  watchAttacked(): void {
    const targets = [...this.#detector.active.keys()];
    const addresses = new Uint8Array(targets.length * 16);
    targets.forEach((target, i) => {
      addresses.set(addressToBytes(target), i * 16);
    });
    this.#source.setWatched(addresses);
  }
}
