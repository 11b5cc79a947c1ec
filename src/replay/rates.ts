/**
 * First half of `floodwall replay --suggest`: measures the rates of the hosts of each hostgroup in a capture, and finds
 * the busiest hosts. Memory is bounded by the host table and the number of hostgroups, for any length of the capture.
 */
import type { Config } from "../config/config.ts";
import type { Engine, Native, SourceStatus } from "../dataplane/native.d.ts";

import type { IpAddress } from "../net/address.ts";
import { allocateHostRows, type HostRows, rowAddress } from "../traffic/host-rows.ts";
import { RateHistogram } from "../traffic/rate-histogram.ts";
import { DIRECTIONS, type Direction, METRICS } from "../traffic/rates.ts";
import { openReplayEngine, replayOptions } from "./run.ts";

/** For `replay --suggest`: busiest hosts listed. */
const SUGGEST_BUSIEST_HOSTS = 5;

interface BusyHost {
  readonly target: IpAddress;
  /** Maximum over all windows. */
  readonly pps: number;
}

/** Rates of the hosts of one hostgroup, or of their sum if the group is judged as a whole. */
export interface SeenRates {
  /** Index in `hostgroups`. */
  readonly group: number;
  readonly direction: Direction;
  /** In the order of METRICS: one value for each window and host with traffic; peaks are from every tick. */
  readonly metrics: readonly RateHistogram[];
  /** Windows of hosts, or of the sum, that were evaluated. */
  readonly windows: number;
  /** Busiest first. */
  readonly busiest: readonly BusyHost[];
}

export interface CaptureRates {
  readonly seen: readonly SeenRates[];
  /** Ticks of the capture, ms since the epoch; null: it has no packets. */
  readonly startedMs: number | null;
  readonly endedMs: number;
  readonly trackedHostsMax: number;
  /** Hosts that got no row in the host table. */
  readonly refusedHosts: number;
  readonly status: SourceStatus;
}

const ROWS = 8192;

/** Throws when the capture cannot be opened; the message names it and the remedy. */
export function ratesIn(native: Native, config: Config, capture: string): CaptureRates {
  const engine = openReplayEngine(native, config);
  try {
    engine.setNetworks(config.lookup.table);
    const source = engine.openReplay(capture, replayOptions(config));
    const reader = new RatesReader(engine, config);
    const { windowMs } = config.detection;
    let startedMs: number | null = null;
    let endedMs = 0;
    let trackedHostsMax = 0;
    let windowEndsMs = 0;
    for (let timeMs = source.advance(); timeMs !== null; timeMs = source.advance()) {
      startedMs ??= timeMs;
      endedMs = timeMs;
      const isWholeWindow = timeMs >= windowEndsMs;
      if (isWholeWindow) windowEndsMs = timeMs + windowMs;
      reader.look(isWholeWindow);
      trackedHostsMax = Math.max(trackedHostsMax, engine.stats().trackedHosts);
    }
    const { refusedHosts } = engine.stats();
    return { seen: reader.seen(), startedMs, endedMs, trackedHostsMax, refusedHosts, status: source.status() };
  } finally {
    engine.close();
  }
}

/** SeenRates while they are collected. */
interface Gathered {
  readonly group: number;
  readonly direction: Direction;
  readonly metrics: readonly RateHistogram[];
  windows: number;
  busiest: BusyHost[];
}

class RatesReader {
  readonly #engine: Engine;
  readonly #config: Config;
  readonly #rows = allocateHostRows(ROWS);
  readonly #sums: HostRows;
  /** Two for each hostgroup, incoming first; created with the first traffic. */
  readonly #gathered: (Gathered | undefined)[] = [];

  constructor(engine: Engine, config: Config) {
    this.#engine = engine;
    this.#config = config;
    this.#sums = allocateHostRows(config.hostgroups.length);
  }

  seen(): SeenRates[] {
    return this.#gathered.filter((gathered) => gathered !== undefined);
  }

  /** @param isWholeWindow a full window has passed since the last one, so that each rate counts once. */
  look(isWholeWindow: boolean): void {
    const { hostgroups, detection } = this.#config;
    const rows = this.#rows;
    for (let cursor = 0; cursor >= 0; ) {
      const { next, count } = this.#engine.readHosts(cursor, rows);
      for (let row = 0; row < count; row++) {
        const group = rows.groups[row] as number;
        if (hostgroups[group]?.calculation !== "per_host" || (rows.idleMs[row] as number) >= detection.windowMs)
          continue;
        for (const direction of DIRECTIONS) this.#take({ rows, row, group, direction, isWholeWindow });
      }
      cursor = next;
    }
    if (!hostgroups.some(({ calculation }) => calculation === "total")) return;
    this.#engine.readGroups(this.#sums);
    for (const [group, { calculation }] of hostgroups.entries()) {
      if (calculation !== "total") continue;
      for (const direction of DIRECTIONS) this.#take({ rows: this.#sums, row: group, group, direction, isWholeWindow });
    }
  }

  #take({ rows, row, group, direction, isWholeWindow }: Look): void {
    const rates = rows[direction];
    const from = row * METRICS.length;
    const pps = rates[from] as number;
    if (pps === 0) return;
    const gathered = this.#gatheredOf(group, direction);
    for (let i = 0; i < METRICS.length; i++) {
      const rate = rates[from + i] as number;
      if (isWholeWindow) gathered.metrics[i]?.add(rate);
      else gathered.metrics[i]?.addToPeak(rate);
    }
    if (isWholeWindow) gathered.windows++;
    const least = gathered.busiest[SUGGEST_BUSIEST_HOSTS - 1];
    if (rows === this.#rows && (least === undefined || pps > least.pps)) {
      gathered.busiest = withHost(gathered.busiest, { target: rowAddress(rows, row), pps });
    }
  }

  #gatheredOf(group: number, direction: Direction): Gathered {
    const at = 2 * group + DIRECTIONS.indexOf(direction);
    const known = this.#gathered[at];
    if (known !== undefined) return known;
    const metrics = METRICS.map(() => new RateHistogram());
    const gathered: Gathered = { group, direction, metrics, windows: 0, busiest: [] };
    this.#gathered[at] = gathered;
    return gathered;
  }
}

interface Look {
  readonly rows: HostRows;
  readonly row: number;
  readonly group: number;
  readonly direction: Direction;
  readonly isWholeWindow: boolean;
}

function withHost(busiest: readonly BusyHost[], host: BusyHost): BusyHost[] {
  const known = busiest.find(({ target }) => target === host.target);
  if (known !== undefined && known.pps >= host.pps) return [...busiest];
  const others = busiest.filter(({ target }) => target !== host.target);
  return [...others, host].sort((a, b) => b.pps - a.pps).slice(0, SUGGEST_BUSIEST_HOSTS);
}
