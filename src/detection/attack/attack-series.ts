/**
 * The traffic of one attack over time, a point a tick. When there is no more room, neighboring points after the first
 * two minutes are merged: sums add up and the larger maximum stays, so that no peak is lost. The beginning stays as it
 * is, since it shows how fast an attack was stopped.
 */
import type { Amount, CountedSpan, RateSpan } from "./attack-volume.ts";
import { perSecond, plus } from "./attack-volume.ts";

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
const [PACKETS, BITS, MAXIMA, DROPPED_PACKETS, DROPPED_BITS] = [2, 3, [5, 6, 7], 9, 10] as const;
const [METRIC_MAX, MAX_DEVIATION] = [7, 8];
const WIDTH = COLUMNS.length + 2;
const FIRST_POINTS = 64;
/** The time from the first point on in which no points are merged, at most half of the room. */
const KEPT_MS = 120_000;

export class AttackSeries {
  #rows = new Float64Array(FIRST_POINTS * WIDTH);
  #length = 0;
  /** The first point of which it is not known yet what was dropped. */
  #unsettled = 0;
  /** Drops that no point has yet. */
  #undrawn: Amount = { packets: 0, bits: 0 };

  get length(): number {
    return this.#length;
  }

  /**
   * @param capacity points that there may be from now on, at least 2.
   * @param over the span over which the tick's rates are measured: the tick, or more.
   */
  add(tick: SeriesTick, capacity: number, over: SeriesTick & Pick<RateSpan, "deviation"> = tick): void {
    const { endMs, spanMs, packets, bits, ofMetric } = tick;
    while (this.#length >= capacity) this.#merge(Math.floor(capacity / 2));
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
    rows[at + BITS] = bits;
    rows[at + 4] = ofMetric;
    rows[at + 5] = perSecond(over.packets, over.spanMs);
    rows[at + 6] = perSecond(over.bits, over.spanMs);
    rows[at + 7] = perSecond(over.ofMetric, over.spanMs);
    rows[at + MAX_DEVIATION] = over.deviation ?? 0;
    rows[at + DROPPED_PACKETS] = Number.NaN;
    rows[at + DROPPED_BITS] = Number.NaN;
  }

  /**
   * Adds the drops since the last call, distributed by the offered traffic. Drops and offered traffic are read some
   * milliseconds apart: what is more than was offered belongs to the next points.
   */
  drop(dropped: Amount): void {
    this.#undrawn = plus(this.#undrawn, dropped);
    const offered = this.#offeredSinceDrops();
    const packets = Math.min(this.#undrawn.packets, offered.packets);
    const bits = Math.min(this.#undrawn.bits, offered.bits);
    this.#undrawn = { packets: this.#undrawn.packets - packets, bits: this.#undrawn.bits - bits };
    const rows = this.#rows;
    for (let point = this.#unsettled; point < this.#length; point++) {
      const at = point * WIDTH;
      rows[at + DROPPED_PACKETS] = partOf(packets, rows[at + PACKETS] as number, offered.packets);
      rows[at + DROPPED_BITS] = partOf(bits, rows[at + BITS] as number, offered.bits);
    }
    this.#unsettled = this.#length;
  }

  #offeredSinceDrops(): Amount {
    const rows = this.#rows;
    let [packets, bits] = [0, 0];
    for (let point = this.#unsettled; point < this.#length; point++) {
      packets += rows[point * WIDTH + PACKETS] as number;
      bits += rows[point * WIDTH + BITS] as number;
    }
    return { packets, bits };
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

  /** @param keptMost the first points that stay as they are, at most. */
  #merge(keptMost: number): void {
    const rows = this.#rows;
    const first = this.#kept(keptMost);
    const merged = Math.floor((this.#length - first) / 2);
    for (let pair = 0; pair < merged; pair++) this.#mergeInto(first + pair, first + 2 * pair);
    if ((this.#length - first) % 2 === 1) {
      rows.copyWithin((first + merged) * WIDTH, (this.#length - 1) * WIDTH, this.#length * WIDTH);
    }
    if (this.#unsettled > first) this.#unsettled = first + Math.ceil((this.#unsettled - first) / 2);
    this.#length -= merged;
  }

  #kept(most: number): number {
    const untilMs = (this.#rows[0] as number) + KEPT_MS;
    let kept = 0;
    while (kept < most && (this.#rows[kept * WIDTH] as number) <= untilMs) kept++;
    return kept;
  }

  /** A point and the one after it. In place and without an object: hundreds of series may be merged in one tick. */
  #mergeInto(point: number, one: number): void {
    const rows = this.#rows;
    const [to, first, second] = [point * WIDTH, one * WIDTH, (one + 1) * WIDTH];
    const higher = (rows[second + METRIC_MAX] as number) > (rows[first + METRIC_MAX] as number) ? second : first;
    rows[to + MAX_DEVIATION] = rows[higher + MAX_DEVIATION] as number;
    rows[to] = rows[second] as number;
    for (const column of SUMS) rows[to + column] = (rows[first + column] as number) + (rows[second + column] as number);
    for (const column of MAXIMA) {
      rows[to + column] = Math.max(rows[first + column] as number, rows[second + column] as number);
    }
  }
}

function partOf(all: number, offered: number, offeredInAll: number): number {
  return offeredInAll === 0 ? 0 : (all * offered) / offeredInAll;
}

type Row = readonly [number, number, number, number, number, number, number, number, number, number, number];
