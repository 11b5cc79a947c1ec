/**
 * Limits learned from the traffic of each host or hostgroup (docs/configuration.md, `baseline`). The normal rate is an
 * exponentially weighted mean of the base trio over the seconds with traffic: silence changes nothing. With `seasonal`,
 * an hour of the week learned in an earlier week has a normal rate of its own. A limit is min(ceiling, max(floor,
 * normal × factor)); the ceiling is the static threshold.
 */
import { createHash } from "node:crypto";
import { BASELINE_GROUPS_MAX } from "../../limits.ts";
import { ADDRESS_BYTES } from "../../net/address.ts";
import type { HostRows } from "../../traffic/host-rows.ts";
import { BASE_TRIO, type Direction, METRICS, type Rates, type Thresholds } from "../../traffic/rates.ts";
import type { Hostgroup } from "../hostgroup.ts";
import type { BaselineConfig } from "./baseline-config.ts";
import { type LearnedGroup, type LearnedRates, NO_GROUP, READ_VALUES } from "./learned-rates.ts";

/** Hosts with a baseline by hour of the week, 536 bytes for each direction: 35 MB, or 70 MB. */
const SEASONAL_HOSTS_MAX = 65_536;

/** The host or hostgroup that is judged, and its 16-byte key in the table. */
export interface Learner {
  readonly keys: Uint8Array;
  readonly at: number;
  readonly group: Hostgroup;
  readonly direction: Direction;
}

/** A reusable object, filled in for each row. */
export function scratchLearner(): { -readonly [Key in keyof Learner]: Learner[Key] } {
  return { keys: new Uint8Array(0), at: 0, group: EMPTY_GROUP, direction: "incoming" };
}

const EMPTY_GROUP: Hostgroup = Object.freeze({
  name: "",
  tenant: null,
  networks: [],
  calculation: "per_host",
  thresholds: [],
  thresholdsOutgoing: null,
  baseline: null,
});

/** The origin of a limit (docs/interface.md#reason-baseline). */
export interface LimitOrigin {
  /** null: the static threshold applied. */
  readonly baseline: {
    readonly normal: number;
    readonly factor: number;
    readonly floor: number;
    readonly ceiling: number;
  } | null;
  /** The time that the normal rate was learned from: recent traffic, or this hour in earlier weeks. */
  readonly normalOf: "recent" | "hour_of_week";
  /** null: the warm-up is over, or the metric has no baseline. */
  readonly warmupRemainingSeconds: number | null;
}

const HOUR_SECONDS = 3600;
/** A row without traffic for this time may lose its place among the hours of the week when all are taken, seconds. */
export const SEASON_IDLE_SECONDS = 14 * 86_400;
/** First byte of the key of a whole hostgroup: that of multicast addresses, which no host has. */
const GROUP_KEY = 0xff;
const SILENT: readonly number[] = [0, 0, 0];
/** As LearnedRates reads a key that it does not know. */
const UNKNOWN = new Float64Array(READ_VALUES);
UNKNOWN[0] = -1;

/** The place of values in READ_VALUES. */
const LEARNED = 0;
const NORMAL = 1;
const IS_OF_HOUR = NORMAL + BASE_TRIO;

/** The values of the rows from `first` to before `end`. */
interface RowsCopy {
  readonly first: number;
  readonly end: number;
  readonly values: Float64Array;
}

export interface BaselinesOptions {
  /** The maximum number of hosts learned by hour of the week; SEASONAL_HOSTS_MAX if absent. */
  readonly seasonalHosts?: number;
}

/** When a pass over all hosts takes place, and how it learns; see LearningPass. */
interface PassTime {
  /** Unix time, which may be set correctly only long after the machine's start. Default: the time of the pass. */
  readonly wallSeconds?: number;
  readonly seconds?: number;
  readonly windowMs?: number;
}

export class Baselines {
  /** null: nothing is learned, and the thresholds are the limits. */
  readonly rates: LearnedRates | null;
  readonly #seasonalHosts: number;
  readonly #directions: number;
  #hasBegun = false;
  readonly #limits = new Float64Array(METRICS.length);
  readonly #groupKeys = new Map<string, Uint8Array>();
  #groups: ReadonlyMap<Hostgroup, number> = new Map();
  /** By the addresses of a reader's rows, the baselines that were read ahead of them. */
  readonly #copies = new WeakMap<Uint8Array, RowsCopy>();
  /** The values of a single key. */
  readonly #single: Float64Array;
  readonly #singleGroup = new Uint32Array(1);
  /** Where values() found them. */
  #found: Float64Array = UNKNOWN;
  readonly #learned = new Float64Array(BASE_TRIO);

  constructor(rates: LearnedRates | null, { seasonalHosts = SEASONAL_HOSTS_MAX }: BaselinesOptions = {}) {
    this.rates = rates;
    this.#seasonalHosts = seasonalHosts;
    this.#directions = rates?.stats().directions ?? 1;
    this.#single = new Float64Array(READ_VALUES * this.#directions);
  }

  /** False until a hostgroup has a baseline: there is nothing to save or to restore. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  reconfigure(hostgroups: readonly Hostgroup[]): void {
    this.#groupKeys.clear();
    this.#groups = new Map(hostgroups.map((group, index) => [group, index]));
    const { rates } = this;
    if (rates === null) return;
    rates.setGroups(hostgroups.map(learnedGroup));
    this.#hasBegun ||= hostgroups.some(({ baseline }) => baseline !== null);
    if (!hostgroups.some(({ baseline }) => baseline?.seasonal === true)) return;
    rates.addSeasons(this.#seasonalHosts, BASELINE_GROUPS_MAX);
  }

  /** Call this before each pass: sets the hour of the week for learning and for limits until the next pass. */
  beginPass(
    nowSeconds: number,
    { wallSeconds = nowSeconds, seconds = 0, windowMs = Number.POSITIVE_INFINITY }: PassTime = {},
  ): void {
    this.rates?.beginPass({
      nowSeconds: Math.floor(nowSeconds),
      seconds,
      hour: Math.floor(wallSeconds / HOUR_SECONDS),
      intoSeconds: wallSeconds % HOUR_SECONDS,
      idleSeconds: Math.max(0, Math.ceil(nowSeconds - SEASON_IDLE_SECONDS)),
      windowMs,
    });
  }

  /**
   * Reads the baselines of `count` rows from `first` on at once. Later reads of these rows are answered from this copy,
   * until the next call for the same rows: call it again when they have changed. A single read costs a crossing, and may
   * wait for a learning pass.
   */
  readAhead({ addresses, groups }: Pick<HostRows, "addresses" | "groups">, count: number, first = 0): void {
    if (this.rates === null || !this.#hasBegun) return;
    const length = count * READ_VALUES * this.#directions;
    const before = this.#copies.get(addresses)?.values;
    const values = before !== undefined && before.length >= length ? before : new Float64Array(length);
    this.rates.read(addresses, first * ADDRESS_BYTES, groups.subarray(first), count, values);
    this.#copies.set(addresses, { first, end: first + count, values });
  }

  /** A whole hostgroup has a row in the table of hosts, with a key that no host has. */
  ofGroup(group: Hostgroup, direction: Direction): Learner {
    let keys = this.#groupKeys.get(group.name);
    if (keys === undefined) {
      keys = createHash("sha256").update(group.name).digest().subarray(0, 16);
      keys[0] = GROUP_KEY;
      this.#groupKeys.set(group.name, keys);
    }
    return { keys, at: 0, group, direction };
  }

  /** null: the direction is not judged. The next call overwrites the result. */
  limits(learner: Learner): Thresholds | Float64Array | null {
    const { group, direction } = learner;
    const thresholds = thresholdsOf(group, direction);
    const { baseline } = group;
    if (thresholds === null || baseline === null || this.rates === null) return thresholds;
    const at = this.#find(learner);
    if (this.#warmupRemaining(at, baseline) > 0) return thresholds;
    for (let i = 0; i < METRICS.length; i++) this.#limits[i] = thresholds[i] as number;
    for (let i = 0; i < BASE_TRIO; i++) {
      const ceiling = thresholds[i] as number;
      if (ceiling > 0) this.#limits[i] = limitOf(baseline, i, this.#normal(at, i), ceiling);
    }
    return this.#limits;
  }

  origin(learner: Learner, metric: number): LimitOrigin {
    const { group, direction } = learner;
    const { baseline } = group;
    const ceiling = thresholdsOf(group, direction)?.[metric] ?? 0;
    if (baseline === null || this.rates === null || metric >= BASE_TRIO) return STATIC;
    const at = this.#find(learner);
    const remaining = this.#warmupRemaining(at, baseline);
    if (remaining > 0) return { ...STATIC, warmupRemainingSeconds: remaining };
    const normal = this.#normal(at, metric);
    if (limitOf(baseline, metric, normal, ceiling) === ceiling) return STATIC;
    const { factor, floor } = baseline;
    const limit = { normal, factor, floor: floor[metric] as number, ceiling };
    const normalOf = this.#found[at + IS_OF_HOUR] === 1 ? "hour_of_week" : "recent";
    return { baseline: limit, normalOf, warmupRemainingSeconds: null };
  }

  /** The normal base trio; null: the group has no baseline. */
  normal(learner: Learner): readonly number[] | null {
    const { group } = learner;
    if (group.baseline === null || group.calculation === "total") return null;
    const at = this.#find(learner);
    return this.#isKnown(at) ? [0, 1, 2].map((metric) => this.#normal(at, metric)) : SILENT;
  }

  /** The normal packet rate; null also when nothing was learned yet. */
  normalPps(learner: Learner): number | null {
    const { group } = learner;
    if (group.baseline === null || group.calculation === "total") return null;
    const at = this.#find(learner);
    return this.#isKnown(at) ? this.#normal(at, 0) : null;
  }

  /** Learns `seconds` of traffic at these rates. Do not call it for attacked or silent ones. */
  learn(
    { keys, at, group, direction }: Learner,
    rates: Rates,
    from: number,
    { nowSeconds, seconds }: { nowSeconds: number; seconds: number },
  ): void {
    for (let i = 0; i < BASE_TRIO; i++) this.#learned[i] = rates[from + i] as number;
    const key = keys.subarray(at, at + ADDRESS_BYTES);
    this.rates?.learn(key, this.#indexOf(group), sideOf(direction), this.#learned, nowSeconds, seconds);
  }

  /** Where in #found the values of the learner's direction are. */
  #find({ keys, at, group, direction }: Learner): number {
    const side = sideOf(direction);
    this.#found = UNKNOWN;
    if (this.rates === null || side >= this.#directions) return 0;
    const row = at / ADDRESS_BYTES;
    const copy = this.#copies.get(keys);
    if (copy !== undefined && row >= copy.first && row < copy.end) {
      this.#found = copy.values;
      return ((row - copy.first) * this.#directions + side) * READ_VALUES;
    }
    this.#singleGroup[0] = this.#indexOf(group);
    this.rates.read(keys, at, this.#singleGroup, 1, this.#single);
    this.#found = this.#single;
    return side * READ_VALUES;
  }

  #isKnown(at: number): boolean {
    return (this.#found[at + LEARNED] as number) >= 0;
  }

  #warmupRemaining(at: number, { warmupSeconds }: BaselineConfig): number {
    return warmupSeconds - Math.max(0, this.#found[at + LEARNED] as number);
  }

  #normal(at: number, metric: number): number {
    return this.#found[at + NORMAL + metric] as number;
  }

  #indexOf(group: Hostgroup): number {
    return this.#groups.get(group) ?? NO_GROUP;
  }
}

const STATIC: LimitOrigin = { baseline: null, normalOf: "recent", warmupRemainingSeconds: null };

function learnedGroup({ calculation, baseline }: Hostgroup): LearnedGroup {
  const isWhole = calculation === "total";
  if (baseline === null) return { isWhole, rule: null };
  const { warmupSeconds, halfLifeSeconds, factor, floor, seasonal } = baseline;
  return {
    isWhole,
    rule: {
      warmupSeconds,
      halfLifeSeconds,
      factor,
      floor: Float64Array.from(floor.slice(0, BASE_TRIO)),
      isSeasonal: seasonal,
    },
  };
}

function sideOf(direction: Direction): number {
  return direction === "incoming" ? 0 : 1;
}

function limitOf({ factor, floor }: BaselineConfig, metric: number, normal: number, ceiling: number): number {
  return Math.min(ceiling, Math.max(floor[metric] as number, normal * factor));
}

function thresholdsOf(group: Hostgroup, direction: Direction): Thresholds | null {
  return direction === "incoming" ? group.thresholds : group.thresholdsOutgoing;
}
