/**
 * Limits learned from each subject's own traffic (choices, section 2: `baseline`): what is normal is an exponentially
 * weighted mean of the base trio over the seconds in which the subject was heard, so that silence neither teaches nor
 * forgets. A limit is min(ceiling, max(floor, normal × factor)); the ceiling is the static threshold.
 */
import { createHash } from "node:crypto";
import type { BaselineConfig } from "../config/baseline-section.ts";
import type { Hostgroup, Thresholds } from "../config/config.ts";
import { BASE_TRIO, type Direction, METRICS, type Rates } from "../traffic/rates.ts";
import { BaselineTable, type BaselineTableOptions, LEARNED_MAX } from "./baseline-table.ts";

/** Who is judged, and the 16 bytes by which what is normal of it is found. */
export interface Learner {
  readonly keys: Uint8Array;
  readonly at: number;
  readonly group: Hostgroup;
  readonly direction: Direction;
}

/** One to be filled in for each row in turn. */
export function scratchLearner(): { -readonly [Key in keyof Learner]: Learner[Key] } {
  return { keys: new Uint8Array(0), at: 0, group: NOBODY, direction: "incoming" };
}

const NOBODY: Hostgroup = Object.freeze({
  name: "",
  tenant: null,
  networks: [],
  calculation: "per_host",
  thresholds: [],
  thresholdsOutgoing: null,
  baseline: null,
});

/** How a limit came about (interface 2.4). */
export interface LimitOrigin {
  /** null: the static threshold held. */
  readonly baseline: {
    readonly normal: number;
    readonly factor: number;
    readonly floor: number;
    readonly ceiling: number;
  } | null;
  /** null: believed already, or nothing is learned of the metric. */
  readonly warmupRemainingSeconds: number | null;
}

const SILENT: readonly number[] = [0, 0, 0];

export class Baselines {
  readonly #options: BaselineTableOptions;
  /** null until a hostgroup has a baseline. */
  #table: BaselineTable | null = null;
  readonly #limits = new Float64Array(METRICS.length);
  #weight = { seconds: 0, halfLifeSeconds: 0, value: 0 };
  readonly #groupKeys = new Map<string, Uint8Array>();

  constructor(options: BaselineTableOptions) {
    this.#options = options;
  }

  reconfigure(hostgroups: readonly Hostgroup[]): void {
    if (this.#table === null && hostgroups.some(({ baseline }) => baseline !== null)) {
      this.#table = new BaselineTable(this.#options);
    }
    this.#groupKeys.clear();
  }

  get table(): BaselineTable | null {
    return this.#table;
  }

  /** A hostgroup as a whole stands in the table of hosts, under a key that is no address of a host. */
  ofGroup(group: Hostgroup, direction: Direction): Learner {
    let keys = this.#groupKeys.get(group.name);
    if (keys === undefined) {
      keys = createHash("sha256").update(group.name).digest().subarray(0, 16);
      // ff00::/8 is multicast.
      keys[0] = 0xff;
      this.#groupKeys.set(group.name, keys);
    }
    return { keys, at: 0, group, direction };
  }

  /** null: the direction is not judged. What it returns is overwritten by the next call. */
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
      if (ceiling > 0) this.#limits[i] = limitOf(baseline, i, this.#normal(row, direction, i), ceiling);
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
    if (remaining > 0) return { baseline: null, warmupRemainingSeconds: remaining };
    const normal = this.#normal(row, direction, metric);
    if (limitOf(baseline, metric, normal, ceiling) === ceiling) return STATIC;
    const { factor, floor } = baseline;
    return { baseline: { normal, factor, floor: floor[metric] as number, ceiling }, warmupRemainingSeconds: null };
  }

  /** The base trio; null: nothing is learned of the group's hosts. */
  normal({ keys, at, group, direction }: Learner): readonly number[] | null {
    if (group.baseline === null || group.calculation === "total") return null;
    const row = this.#table?.find(keys, at) ?? -1;
    if (row < 0) return SILENT;
    return [0, 1, 2].map((metric) => this.#normal(row, direction, metric));
  }

  /** Of the base trio only the packets; null also where nothing was learned yet. */
  normalPps({ keys, at, group, direction }: Learner): number | null {
    if (group.baseline === null || group.calculation === "total") return null;
    const row = this.#table?.find(keys, at) ?? -1;
    return row < 0 ? null : this.#normal(row, direction, 0);
  }

  /** `seconds` of traffic at these rates. Not to be called for an attack, nor for silence. */
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
    const isBelieved = before > 0 && before >= baseline.warmupSeconds;
    // At first the plain mean: a young host is not weighed down by the zero that it began with.
    const weight = Math.max(this.#steadyWeight(seconds, baseline.halfLifeSeconds), seconds / learned);
    for (let i = 0; i < BASE_TRIO; i++) {
      const normal = values[at + 1 + i] as number;
      const rate = rates[from + i] as number;
      // What crawls up under the limit raises it by no more than the limit allows.
      const counted = isBelieved
        ? Math.min(rate, Math.max(baseline.floor[i] as number, normal * baseline.factor))
        : rate;
      values[at + 1 + i] = normal + weight * (counted - normal);
    }
    values[at] = Math.min(learned, LEARNED_MAX);
    table.setHeard(row, nowSeconds);
  }

  /** The same for nearly all hosts of a pass, and a power is what costs most here. */
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

  #normal(row: number, direction: Direction, metric: number): number {
    const side = direction === "incoming" ? 0 : 1;
    const table = this.#table;
    return row < 0 || table === null || side >= table.directions ? 0 : table.normal(row, side, metric);
  }
}

const STATIC: LimitOrigin = { baseline: null, warmupRemainingSeconds: null };

function limitOf({ factor, floor }: BaselineConfig, metric: number, normal: number, ceiling: number): number {
  return Math.min(ceiling, Math.max(floor[metric] as number, normal * factor));
}

function thresholdsOf(group: Hostgroup, direction: Direction): Thresholds | null {
  return direction === "incoming" ? group.thresholds : group.thresholdsOutgoing;
}
