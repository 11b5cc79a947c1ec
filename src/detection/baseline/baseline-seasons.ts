/**
 * The normal rates of each hour of the week (168 slots, UTC), for those rows of the baseline table that have a place
 * here. At the end of an hour its mean goes into the slot with half the weight. Knows no limits.
 */
import { BASE_TRIO } from "../../traffic/rates.ts";

const SLOTS = 168;
export const HOUR_SECONDS = 3600;
/** A slot is not updated after an hour with less traffic than this, seconds. */
const SLOT_SECONDS_MIN = 600;
/** Time in which the normal moves from the last hour's to the new one's, seconds, so that a limit does not jump. */
const BLEND_SECONDS = 600;
/** A row without traffic for this time may lose its place when all are taken, seconds. */
export const SEASON_IDLE_SECONDS = 14 * 86_400;
const WEEK_WEIGHT = 0.5;
/** Candidates checked for a place in one pass over all hosts: up to a million rows may be refused. */
const CANDIDATES = 256;
const NONE = -1;

/** Codes of one direction of a row: one byte for each slot and metric. */
export const SLOT_BYTES = SLOTS * BASE_TRIO;
/**
 * The state beside the codes: 1 + the last hour with traffic since the epoch (0: none), seconds of traffic in it, their
 * mean, and the normal at its start.
 */
export const STATE_WORDS = 2 + 2 * BASE_TRIO;
const SECONDS = 1;
const MEAN = 2;
const FROM = MEAN + BASE_TRIO;

/** A time as hours since the epoch and seconds into the present hour. */
export interface HourMoment {
  readonly hour: number;
  readonly intoSeconds: number;
}

export interface SeasonTableOptions {
  /** Rows of the baseline table. */
  readonly rows: number;
  readonly directions: 1 | 2;
  readonly hosts: number;
  /** Places reserved for whole hostgroups. */
  readonly groups: number;
}

export class SeasonTable {
  readonly directions: 1 | 2;
  readonly #hosts: number;
  readonly #capacity: number;
  /** Place + 1 of a row (0: none), and the reverse. */
  readonly #placeOf: Uint32Array;
  readonly #rowOf: Uint32Array;
  readonly #codes: Uint8Array;
  readonly #words: Uint32Array;
  readonly #floats: Float32Array;
  /** Freed places. */
  readonly #free: number[] = [];
  /** Number of places that were ever used. */
  #used = 0;
  #hand = 0;
  #candidates = CANDIDATES;
  /** Number of refused requests for a place. */
  refused = 0;

  constructor({ rows, directions, hosts, groups }: SeasonTableOptions) {
    this.directions = directions;
    this.#hosts = hosts;
    this.#capacity = hosts + groups;
    this.#placeOf = new Uint32Array(rows);
    this.#rowOf = new Uint32Array(this.#capacity);
    this.#codes = new Uint8Array(this.#capacity * directions * SLOT_BYTES);
    this.#words = new Uint32Array(this.#capacity * directions * STATE_WORDS);
    this.#floats = new Float32Array(this.#words.buffer);
  }

  get count(): number {
    return this.#used - this.#free.length;
  }

  /** Rows with a place. */
  rows(): number[] {
    const rows: number[] = [];
    for (let place = 0; place < this.#used; place++) {
      const row = this.#rowOf[place] as number;
      if (this.find(row) === place) rows.push(row);
    }
    return rows;
  }

  beginPass(): void {
    this.#candidates = CANDIDATES;
  }

  /** -1: the row has no place. */
  find(row: number): number {
    return (this.#placeOf[row] as number) - 1;
  }

  /** @param isIdle whether a row had no traffic for SEASON_IDLE_SECONDS. Returns -1 when all places are taken. */
  findOrAdd(row: number, isHost: boolean, isIdle: (row: number) => boolean): number {
    const found = this.find(row);
    if (found >= 0) return found;
    if (this.count >= (isHost ? this.#hosts : this.#capacity)) this.#freeIdle(isIdle);
    if (this.count >= (isHost ? this.#hosts : this.#capacity)) {
      this.refused++;
      return NONE;
    }
    const place = this.#free.pop() ?? this.#used++;
    this.#placeOf[row] = place + 1;
    this.#rowOf[place] = row;
    const { directions } = this;
    this.#codes.fill(0, place * directions * SLOT_BYTES, (place + 1) * directions * SLOT_BYTES);
    this.#words.fill(0, place * directions * STATE_WORDS, (place + 1) * directions * STATE_WORDS);
    return place;
  }

  /** Frees the row's place: the row gets another key. */
  release(row: number): void {
    const place = this.find(row);
    if (place < 0) return;
    this.#placeOf[row] = 0;
    this.#free.push(place);
  }

  isLearned(place: number, side: number, hour: number): boolean {
    return this.#codes[this.#codeAt(place, side, hour)] !== 0;
  }

  /** @param recent the normal rate for hours that are not learned yet. */
  normal(place: number, side: number, metric: number, { hour, intoSeconds }: HourMoment, recent: number): number {
    const now = this.#ofHour(place, side, metric, hour, recent);
    const state = this.#stateAt(place, side);
    if (intoSeconds >= BLEND_SECONDS) return now;
    const isCurrentHour = this.#words[state] === 1 + hour;
    const from = isCurrentHour
      ? (this.#floats[state + FROM + metric] as number)
      : this.#ofHour(place, side, metric, hour - 1, recent);
    return from + (now - from) * (intoSeconds / BLEND_SECONDS);
  }

  /** Call this before the first rates of an hour: it stores the last hour in its slot. */
  startHour(place: number, side: number, { hour }: HourMoment, recents: Float32Array, from: number): void {
    const state = this.#stateAt(place, side);
    const last = (this.#words[state] as number) - 1;
    if (last === hour) return;
    for (let i = 0; i < BASE_TRIO; i++) {
      this.#floats[state + FROM + i] = this.#ofHour(place, side, i, hour - 1, recents[from + i] as number);
    }
    if ((this.#floats[state + SECONDS] as number) >= SLOT_SECONDS_MIN) this.#keep(place, side, last);
    this.#words[state] = 1 + hour;
    this.#floats.fill(0, state + SECONDS, state + FROM);
  }

  /** Learns `seconds` of traffic at these rates, for the hour of the last startHour(). */
  learn(place: number, side: number, rates: Float32Array, seconds: number): void {
    const state = this.#stateAt(place, side);
    const floats = this.#floats;
    const activeSeconds = (floats[state + SECONDS] as number) + seconds;
    floats[state + SECONDS] = activeSeconds;
    for (let i = 0; i < BASE_TRIO; i++) {
      const mean = floats[state + MEAN + i] as number;
      floats[state + MEAN + i] = mean + ((rates[i] as number) - mean) * (seconds / activeSeconds);
    }
  }

  /** Views into the table's memory: the hour as an integer, the rest of the state as floats, and the codes. */
  memory(place: number, side: number): { hour: Uint32Array; state: Float32Array; codes: Uint8Array } {
    const [state, codes] = [this.#stateAt(place, side), this.#codeAt(place, side, 0)];
    return {
      hour: this.#words.subarray(state, state + 1),
      state: this.#floats.subarray(state + 1, state + STATE_WORDS),
      codes: this.#codes.subarray(codes, codes + SLOT_BYTES),
    };
  }

  #keep(place: number, side: number, hour: number): void {
    const code = this.#codeAt(place, side, hour);
    const mean = this.#stateAt(place, side) + MEAN;
    for (let i = 0; i < BASE_TRIO; i++) {
      const known = this.#codes[code + i] as number;
      const hourMean = this.#floats[mean + i] as number;
      const before = rateOf(known);
      this.#codes[code + i] = codeOf(known === 0 ? hourMean : before + WEEK_WEIGHT * (hourMean - before));
    }
  }

  #ofHour(place: number, side: number, metric: number, hour: number, recent: number): number {
    const code = this.#codes[this.#codeAt(place, side, hour) + metric] as number;
    return code === 0 ? recent : rateOf(code);
  }

  #freeIdle(isIdle: (row: number) => boolean): void {
    for (; this.#candidates > 0; this.#candidates--) {
      const place = this.#hand;
      this.#hand = (this.#hand + 1) % this.#used;
      const row = this.#rowOf[place] as number;
      if (this.find(row) !== place || !isIdle(row)) continue;
      this.release(row);
      return;
    }
  }

  #codeAt(place: number, side: number, hour: number): number {
    return ((place * this.directions + side) * SLOTS + ((hour + SLOTS) % SLOTS)) * BASE_TRIO;
  }

  #stateAt(place: number, side: number): number {
    return (place * this.directions + side) * STATE_WORDS;
  }
}

/**
 * A rate in one byte, logarithmic: 0 means not learned, 1 means zero, the rest are 36 octaves from 2^-6, above every
 * possible rate. The error is at most 5.1 %.
 */
const OCTAVE_MIN = -6;
const STEP = 36 / 253;
const RATES = Float64Array.from({ length: 256 }, (_, code) => (code < 2 ? 0 : 2 ** (OCTAVE_MIN + (code - 2) * STEP)));

export function codeOf(rate: number): number {
  const step = Math.round((Math.log2(rate) - OCTAVE_MIN) / STEP);
  return Math.min(255, Math.max(1, 2 + step));
}

export function rateOf(code: number): number {
  return RATES[code] as number;
}
