/**
 * Limits learned from the traffic of each host or hostgroup (docs/configuration.md, `baseline`). The normal rate is an
 * exponentially weighted mean of the base trio over the seconds with traffic: silence changes nothing. With `seasonal`,
 * an hour of the week learned in an earlier week has a normal rate of its own. A limit is min(ceiling, max(floor,
 * normal × factor)); the ceiling is the static threshold.
 */
import { createHash } from "node:crypto";
import { BASELINE_GROUPS_MAX } from "../../limits.ts";
import { BASE_TRIO, type Direction, METRICS, type Rates, type Thresholds } from "../../traffic/rates.ts";
import type { Hostgroup } from "../hostgroup.ts";
import type { BaselineConfig } from "./baseline-config.ts";
import { HOUR_SECONDS, type HourMoment, SEASON_IDLE_SECONDS, SeasonTable } from "./baseline-seasons.ts";
import { BaselineTable, type BaselineTableOptions, GROUP_KEY, LEARNED_MAX } from "./baseline-table.ts";

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
  /** What the normal rate was learned from: recent traffic, or this hour in earlier weeks. */
  readonly normalOf: "recent" | "hour_of_week";
  /** null: the warm-up is over, or the metric has no baseline. */
  readonly warmupRemainingSeconds: number | null;
}

const SILENT: readonly number[] = [0, 0, 0];

export type BaselinesOptions = BaselineTableOptions & {
  /** The maximum number of hosts learned by hour of the week; SEASONAL_HOSTS_MAX if absent. */
  readonly seasonalHosts?: number;
};

export class Baselines {
  readonly #options: BaselinesOptions;
  /** null until a hostgroup has a baseline. */
  #table: BaselineTable | null = null;
  readonly #limits = new Float64Array(METRICS.length);
  #weight = { seconds: 0, halfLifeSeconds: 0, value: 0 };
  readonly #groupKeys = new Map<string, Uint8Array>();
  /** Time of the present or last pass. */
  #moment: HourMoment = { hour: 0, intoSeconds: 0 };
  #idleSeconds = 0;
  readonly #isIdle = (row: number) => (this.#table?.lastTrafficSeconds(row) ?? 0) < this.#idleSeconds;
  /** Base trio of the present row. */
  readonly #counted = new Float32Array(BASE_TRIO);

  constructor(options: BaselinesOptions) {
    this.#options = options;
  }

  reconfigure(hostgroups: readonly Hostgroup[]): void {
    if (this.#table === null && hostgroups.some(({ baseline }) => baseline !== null)) {
      this.#table = new BaselineTable(this.#options);
    }
    const table = this.#table;
    if (table !== null && table.seasons === null && hostgroups.some(({ baseline }) => baseline?.seasonal === true)) {
      const { capacity, directions, seasonalHosts = SEASONAL_HOSTS_MAX } = this.#options;
      const [hosts, groups] = [Math.min(capacity, seasonalHosts), BASELINE_GROUPS_MAX];
      table.seasons = new SeasonTable({ rows: capacity, directions, hosts, groups });
    }
    this.#groupKeys.clear();
  }

  /**
   * Call this before each pass: sets the hour of the week for learning and for limits until the next pass.
   * @param wallSeconds Unix time, which may be set correctly only long after the machine's start.
   */
  beginPass(nowSeconds: number, { wallSeconds = nowSeconds } = {}): void {
    this.#moment = { hour: Math.floor(wallSeconds / HOUR_SECONDS), intoSeconds: wallSeconds % HOUR_SECONDS };
    this.#idleSeconds = nowSeconds - SEASON_IDLE_SECONDS;
    this.#table?.seasons?.beginPass();
  }

  get table(): BaselineTable | null {
    return this.#table;
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
    if (thresholds === null || baseline === null || this.#table === null) return thresholds;
    const row = this.#table.find(learner.keys, learner.at);
    if (this.#warmupRemaining(row, direction, baseline) > 0) return thresholds;
    for (let i = 0; i < METRICS.length; i++) this.#limits[i] = thresholds[i] as number;
    for (let i = 0; i < BASE_TRIO; i++) {
      const ceiling = thresholds[i] as number;
      if (ceiling > 0) this.#limits[i] = limitOf(baseline, i, this.#normal(row, learner, i), ceiling);
    }
    return this.#limits;
  }

  origin(learner: Learner, metric: number): LimitOrigin {
    const { group, direction } = learner;
    const { baseline } = group;
    const ceiling = thresholdsOf(group, direction)?.[metric] ?? 0;
    if (baseline === null || this.#table === null || metric >= BASE_TRIO) return STATIC;
    const row = this.#table.find(learner.keys, learner.at);
    const remaining = this.#warmupRemaining(row, direction, baseline);
    if (remaining > 0) return { ...STATIC, warmupRemainingSeconds: remaining };
    const normal = this.#normal(row, learner, metric);
    if (limitOf(baseline, metric, normal, ceiling) === ceiling) return STATIC;
    const { factor, floor } = baseline;
    const limit = { normal, factor, floor: floor[metric] as number, ceiling };
    return { baseline: limit, normalOf: this.#normalOf(row, learner), warmupRemainingSeconds: null };
  }

  /** The normal base trio; null: the group has no baseline. */
  normal(learner: Learner): readonly number[] | null {
    const { keys, at, group } = learner;
    if (group.baseline === null || group.calculation === "total") return null;
    const row = this.#table?.find(keys, at) ?? -1;
    if (row < 0) return SILENT;
    return [0, 1, 2].map((metric) => this.#normal(row, learner, metric));
  }

  /** The normal packet rate; null also when nothing was learned yet. */
  normalPps(learner: Learner): number | null {
    const { keys, at, group } = learner;
    if (group.baseline === null || group.calculation === "total") return null;
    const row = this.#table?.find(keys, at) ?? -1;
    return row < 0 ? null : this.#normal(row, learner, 0);
  }

  /** Learns `seconds` of traffic at these rates. Do not call it for attacked or silent hosts. */
  learn(
    learner: Learner,
    rates: Rates,
    from: number,
    { nowSeconds, seconds }: { nowSeconds: number; seconds: number },
  ): void {
    const { group, direction } = learner;
    const { baseline } = group;
    const table = this.#table;
    const side = direction === "incoming" ? 0 : 1;
    if (baseline === null || table === null || side >= table.directions) return;
    const row = table.findOrAdd(learner.keys, learner.at, nowSeconds);
    if (row < 0) return;
    const { values } = table;
    const at = table.sideAt(row, side);
    const before = values[at] as number;
    const learned = before + seconds;
    const isWarm = before > 0 && before >= baseline.warmupSeconds;
    // The plain mean at first, so that the initial zero has no weight.
    const weight = Math.max(this.#steadyWeight(seconds, baseline.halfLifeSeconds), seconds / learned);
    // During the warm-up the rates are not clamped, and must not enter a season.
    const place = isWarm ? this.#placeFor(row, group) : -1;
    if (place >= 0) table.seasons?.startHour(place, side, this.#moment, values, at + 1);
    for (let i = 0; i < BASE_TRIO; i++) {
      const recent = values[at + 1 + i] as number;
      const normal = place < 0 ? recent : this.#normal(row, learner, i);
      const rate = rates[from + i] as number;
      // Rates that creep up below the limit raise it only as fast as the limit allows.
      const counted = isWarm ? Math.min(rate, Math.max(baseline.floor[i] as number, normal * baseline.factor)) : rate;
      values[at + 1 + i] = recent + weight * (counted - recent);
      this.#counted[i] = counted;
    }
    if (place >= 0) table.seasons?.learn(place, side, this.#counted, seconds);
    values[at] = Math.min(learned, LEARNED_MAX);
    table.setLastTraffic(row, nowSeconds);
  }

  /** Cached: equal for nearly all hosts of a pass, and the power is the costliest step. */
  #steadyWeight(seconds: number, halfLifeSeconds: number): number {
    const weight = this.#weight;
    if (weight.seconds !== seconds || weight.halfLifeSeconds !== halfLifeSeconds) {
      this.#weight = { seconds, halfLifeSeconds, value: 1 - 2 ** (-seconds / halfLifeSeconds) };
    }
    return this.#weight.value;
  }

  #warmupRemaining(row: number, direction: Direction, { warmupSeconds }: BaselineConfig): number {
    const side = direction === "incoming" ? 0 : 1;
    return warmupSeconds - (row < 0 ? 0 : (this.#table?.learnedSeconds(row, side) ?? 0));
  }

  #normal(row: number, { group, direction }: Learner, metric: number): number {
    const side = direction === "incoming" ? 0 : 1;
    const table = this.#table;
    if (row < 0 || table === null || side >= table.directions) return 0;
    const recent = table.normal(row, side, metric);
    const { seasons } = table;
    if (seasons === null || group.baseline?.seasonal !== true) return recent;
    const place = seasons.find(row);
    return place < 0 ? recent : seasons.normal(place, side, metric, this.#moment, recent);
  }

  #normalOf(row: number, { group, direction }: Learner): LimitOrigin["normalOf"] {
    const seasons = this.#table?.seasons ?? null;
    if (row < 0 || seasons === null || group.baseline?.seasonal !== true) return "recent";
    const place = seasons.find(row);
    const isLearned = place >= 0 && seasons.isLearned(place, direction === "incoming" ? 0 : 1, this.#moment.hour);
    return isLearned ? "hour_of_week" : "recent";
  }

  /** -1: not learned by hour of the week. */
  #placeFor(row: number, { baseline, calculation }: Hostgroup): number {
    const seasons = this.#table?.seasons ?? null;
    if (seasons === null || baseline?.seasonal !== true) return -1;
    return seasons.findOrAdd(row, calculation !== "total", this.#isIdle);
  }
}

const STATIC: LimitOrigin = { baseline: null, normalOf: "recent", warmupRemainingSeconds: null };

function limitOf({ factor, floor }: BaselineConfig, metric: number, normal: number, ceiling: number): number {
  return Math.min(ceiling, Math.max(floor[metric] as number, normal * factor));
}

function thresholdsOf(group: Hostgroup, direction: Direction): Thresholds | null {
  return direction === "incoming" ? group.thresholds : group.thresholdsOutgoing;
}
