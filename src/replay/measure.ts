/**
 * Second half of `floodwall replay --suggest`: judges a capture with many configurations at once, each with its own
 * detector, and counts the attacks that each would have detected. Nothing is estimated.
 */
import type { Config } from "../config/config.ts";
import type { Engine, Native } from "../dataplane/native.d.ts";
import { BaselineLearner } from "../detection/baseline/baseline-learner.ts";
import { Baselines } from "../detection/baseline/baselines.ts";
import { Detector } from "../detection/judge/detector.ts";
import { detectionPolicy } from "../detection/judge/policy.ts";
import { screensFor } from "../detection/judge/screens.ts";
import { BASELINE_GROUPS_MAX } from "../limits.ts";
import { allocateHostRows, type HostRows } from "../traffic/host-rows.ts";
import { openReplayEngine, replayOptions, replayTable } from "./run.ts";

/** For `replay --suggest`: rows judged in one tick, and hosts counted separately. */
export const SUGGEST_ROWS_MAX = 65_536;
export const SUGGEST_HOSTS_MAX = 65_536;

/** The detections of a configuration. All are false alarms if the capture has only normal traffic. */
export interface Alarms {
  readonly attacks: number;
  /** Hosts, and hostgroups that are judged as a whole, by direction; at most SUGGEST_HOSTS_MAX are counted. */
  readonly hosts: number;
  /** Detections refused because the table of attacks was full. */
  readonly refused: number;
}

interface Measured {
  /** In the order of the configurations. */
  readonly alarms: readonly Alarms[];
  /** Rows over a threshold that were not judged in their tick for lack of space. */
  readonly unjudgedRows: number;
}

interface MeasureOptions {
  readonly native: Native;
  readonly capture: string;
  /** Identical except for thresholds and baselines. At least one. */
  readonly configs: readonly Config[];
  /** The largest number of hosts at once in the capture. */
  readonly hosts: number;
}

/** Throws when the capture cannot be opened; the message names it and the remedy. */
export function measure({ native, capture, configs, hosts }: MeasureOptions): Measured {
  const [first] = configs;
  if (first === undefined) return { alarms: [], unjudgedRows: 0 };
  const engine = openReplayEngine(native, first);
  try {
    engine.setNetworks(first.lookup.table);
    engine.setScreens(lowestScreens(configs));
    const source = engine.openReplay(capture, replayOptions(first));
    const trials = configs.map((config) => new Trial(native, engine, config, hosts));
    const rows = allocateHostRows(SUGGEST_ROWS_MAX);
    const groups = allocateHostRows(first.hostgroups.length);
    let unjudgedRows = 0;
    let learnAtMs = 0;
    for (let timeMs = source.advance(); timeMs !== null; timeMs = source.advance()) {
      const screened = engine.readScreened(rows);
      const count = Math.min(screened, rows.capacity);
      unjudgedRows += screened - count;
      if (trials.some(({ readsGroups }) => readsGroups)) engine.readGroups(groups);
      for (const trial of trials) trial.judge(rows, count, groups, timeMs);
      if (timeMs < learnAtMs) continue;
      learnAtMs = timeMs + 1000;
      for (const trial of trials) trial.learn(timeMs);
    }
    return { alarms: trials.map((trial) => trial.alarms()), unjudgedRows };
  } finally {
    engine.close();
  }
}

/** The lowest rates that any of the configurations needs. */
function lowestScreens(configs: readonly Config[]): Float64Array {
  const all = configs.map(({ hostgroups }) => screensFor(hostgroups));
  return Float64Array.from(all[0] ?? [], (_, i) => Math.min(...all.map((screens) => screens[i] as number)));
}

class Trial {
  readonly #detector: Detector;
  readonly #learner: BaselineLearner;
  readonly #hosts = new Set<string>();
  #attacks = 0;

  constructor(native: Native, engine: Engine, config: Config, hosts: number) {
    const { directions } = replayTable(config);
    const baselines = new Baselines(native.openBaselines({ capacity: hosts + BASELINE_GROUPS_MAX, directions }));
    let ids = 0;
    this.#detector = new Detector(detectionPolicy(config), () => String(++ids), baselines);
    this.#learner = new BaselineLearner({
      source: engine,
      baselines,
      active: this.#detector.active,
      carpets: null,
      windowMs: config.detection.windowMs,
      hostgroups: () => config.hostgroups,
    });
  }

  get readsGroups(): boolean {
    return this.#detector.groupsToRead > 0;
  }

  /**
   * Attacked hosts are not watched as in the service: a host that is not screened is below all its thresholds anyway.
   */
  judge(rows: HostRows, count: number, groups: HostRows, timeMs: number): void {
    const now = { wallMs: timeMs, monotonicMs: timeMs };
    for (const { kind, attack } of this.#detector.judge(rows, count, now, this.readsGroups ? groups : null)) {
      if (kind !== "started") continue;
      this.#attacks++;
      const { direction, target, group } = attack;
      if (this.#hosts.size < SUGGEST_HOSTS_MAX) this.#hosts.add(`${direction} ${target ?? `group ${group}`}`);
    }
  }

  learn(timeMs: number): void {
    for (const _ of this.#learner.pass(timeMs / 1000));
  }

  alarms(): Alarms {
    return { attacks: this.#attacks, hosts: this.#hosts.size, refused: this.#detector.refused };
  }
}
