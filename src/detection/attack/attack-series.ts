/**
 * The traffic of one attack over time, a point a tick. When there is no more room, neighboring points are merged: sums
 * add up and the larger maximum stays, so that old points cover more time than new ones and no peak is lost.
 */
import type { Amount, CountedSpan, RateSpan } from "./attack-volume.ts";
import { perSecond } from "./attack-volume.ts";

/** A tick, with the count of the attack's metric. */
export interface SeriesTick extends CountedSpan {
  readonly ofMetric: number;
}

export interface SeriesPoint extends SeriesTick {
  /** The highest rates of a tick in the point, per second. */
  readonly ppsMax: number;
  readonly bpsMax: number;
  readonly metricMax: number;
  /** The standard deviation of these as a fraction of them, as of one estimate each; 0: they are exact. */
  readonly maxDeviation: number;
  /** null: nothing is known of what was dropped. */
  readonly dropped: Amount | null;
}

const COLUMNS = [
  "endMs",
  "spanMs",
  "packets",
  "bits",
  "ofMetric",
  "ppsMax",
  "bpsMax",
  "metricMax",
  "maxDeviation",
] as const;
const SUMS = [1, 2, 3, 4, 9, 10];
const [PACKETS, MAXIMA, DROPPED_PACKETS, DROPPED_BITS] = [2, [5, 6, 7], 9, 10] as const;
const [METRIC_MAX, MAX_DEVIATION] = [7, 8];
const WIDTH = COLUMNS.length + 2;
const FIRST_POINTS = 64;

export class AttackSeries {
  #rows = new Float64Array(FIRST_POINTS * WIDTH);
  #length = 0;
  /** The first point of which it is not known yet what was dropped. */
  #unsettled = 0;

  get length(): number {
    return this.#length;
  }

  /**
   * @param capacity points that there may be from now on, at least 2.
   * @param over the span over which the tick's rates are measured: the tick, or more.
   */
  add(tick: SeriesTick, capacity: number, over: SeriesTick & Pick<RateSpan, "deviation"> = tick): void {
    const { endMs, spanMs, packets, bits, ofMetric } = tick;
    while (this.#length >= capacity) this.#merge();
    if (this.#rows.length === this.#length * WIDTH) {
      const larger = new Float64Array(2 * this.#rows.length);
      larger.set(this.#rows);
      this.#rows = larger;
    }
    const rows = this.#rows;
    const at = this.#length++ * WIDTH;
    rows[at] = endMs;
    rows[at + 1] = spanMs;
    rows[at + PACKETS] = packets;
    rows[at + 3] = bits;
    rows[at + 4] = ofMetric;
    rows[at + 5] = perSecond(over.packets, over.spanMs);
    rows[at + 6] = perSecond(over.bits, over.spanMs);
    rows[at + 7] = perSecond(over.ofMetric, over.spanMs);
    rows[at + MAX_DEVIATION] = over.deviation ?? 0;
    rows[at + DROPPED_PACKETS] = Number.NaN;
    rows[at + DROPPED_BITS] = Number.NaN;
  }

  /** Adds the drops since the last call: a reading is rarer than a tick, and is distributed by the offered traffic. */
  drop({ packets, bits }: Amount): void {
    const rows = this.#rows;
    let offered = 0;
    for (let point = this.#unsettled; point < this.#length; point++) offered += rows[point * WIDTH + PACKETS] as number;
    for (let point = this.#unsettled; point < this.#length; point++) {
      const at = point * WIDTH;
      const share = offered === 0 ? 0 : (rows[at + PACKETS] as number) / offered;
      rows[at + DROPPED_PACKETS] = packets * share;
      rows[at + DROPPED_BITS] = bits * share;
    }
    this.#unsettled = this.#length;
  }

  /** Marks the drops of the points so far as unknown for good. */
  settle(): void {
    this.#unsettled = this.#length;
  }

  /** Oldest first. */
  *points(): Generator<SeriesPoint> {
    for (let at = 0; at < this.#length * WIDTH; at += WIDTH) {
      const row = this.#rows.subarray(at, at + WIDTH) as unknown as Row;
      const [endMs, spanMs, packets, bits, ofMetric, ppsMax, bpsMax, metricMax, maxDeviation] = row;
      const [droppedPackets, droppedBits] = [row[DROPPED_PACKETS], row[DROPPED_BITS]];
      const dropped = Number.isNaN(droppedPackets) ? null : { packets: droppedPackets, bits: droppedBits };
      yield { endMs, spanMs, packets, bits, ofMetric, ppsMax, bpsMax, metricMax, maxDeviation, dropped };
    }
  }

  #merge(): void {
    const rows = this.#rows;
    const merged = Math.floor(this.#length / 2);
    for (let point = 0; point < merged; point++) {
      const [to, first, second] = [point * WIDTH, 2 * point * WIDTH, (2 * point + 1) * WIDTH];
      const higher = (rows[second + METRIC_MAX] as number) > (rows[first + METRIC_MAX] as number) ? second : first;
      rows[to + MAX_DEVIATION] = rows[higher + MAX_DEVIATION] as number;
      // In place and without an object: hundreds of series may be merged in one tick.
      rows[to] = rows[second] as number;
      for (const column of SUMS)
        rows[to + column] = (rows[first + column] as number) + (rows[second + column] as number);
      for (const column of MAXIMA) {
        rows[to + column] = Math.max(rows[first + column] as number, rows[second + column] as number);
      }
    }
    if (this.#length % 2 === 1) rows.copyWithin(merged * WIDTH, (this.#length - 1) * WIDTH, this.#length * WIDTH);
    this.#unsettled = Math.ceil(this.#unsettled / 2);
    this.#length -= merged;
  }
}

type Row = readonly [number, number, number, number, number, number, number, number, number, number, number];
