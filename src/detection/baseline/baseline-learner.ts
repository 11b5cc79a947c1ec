/**
 * Learns from all hosts and hostgroups that have traffic and are not attacked: one pass about every second, in slices
 * between which other work runs. The same pass sums the hosts of each prefix.
 */

import { ADDRESS_BYTES } from "../../net/address.ts";
import { allocateHostRows, type HostRows } from "../../traffic/host-rows.ts";
import { METRICS } from "../../traffic/rates.ts";
import type { ActiveAttacks } from "../attack/active-attacks.ts";
import type { CarpetScan } from "../carpet/carpet-scan.ts";
import type { Hostgroup } from "../hostgroup.ts";
import { type Baselines, scratchLearner } from "./baselines.ts";

/** The part of the packet counter that is used. */
export interface AllRates {
  /** Reads in chunks: start with cursor 0 and continue with `next`; -1 is the end. */
  readHosts(cursor: number, out: HostRows): { readonly next: number; readonly count: number };
  /** Sums by hostgroup: row i is group i. */
  readGroups(out: HostRows): number;
}

/** Hosts whose traffic bans drop: their remaining traffic is not normal. */
export interface BannedRows {
  holds(rows: HostRows, row: number): boolean;
}

export interface BaselineLearnerOptions {
  readonly source: AllRates;
  readonly baselines: Baselines;
  /** Attacks in progress, from which nothing is learned. */
  readonly active: ActiveAttacks;
  /** null: sums of prefixes are not needed. */
  readonly carpets: CarpetScan | null;
  readonly windowMs: number;
  readonly hostgroups: () => readonly Hostgroup[];
  /** Called once per pass; absent: no host is banned. */
  readonly banned?: () => BannedRows;
  /** Unix time, for the hour of the week; absent: that of the passes. */
  readonly wallSeconds?: () => number;
}

/** Hosts of one slice: well under 1 ms, a few ms when all of them are new. */
const SLICE_ROWS = 2048;
/** The longest time that one pass counts for, seconds: the rates are current ones. */
const SECONDS_MAX = 5;
const DIRECTIONS = ["incoming", "outgoing"] as const;
const NONE_BANNED: BannedRows = { holds: () => false };

export class BaselineLearner {
  readonly #options: BaselineLearnerOptions;
  readonly #rows = allocateHostRows(SLICE_ROWS);
  #groups = allocateHostRows(0);
  #lastSeconds: number | null = null;
  #banned = NONE_BANNED;
  readonly #learner = scratchLearner();

  constructor(options: BaselineLearnerOptions) {
    this.#options = options;
  }

  /** False: a pass would have no effect. */
  get hasWork(): boolean {
    const { active, carpets, hostgroups } = this.#options;
    // Attacks that started before a reload disabled carpet detection must still end.
    const areCarpetsJudged = carpets !== null && (carpets.isOn || active.carpetCount > 0);
    return areCarpetsJudged || hostgroups().some(({ baseline }) => baseline !== null);
  }

  /** Yields after each slice. */
  *pass(nowSeconds: number): Generator<void> {
    const { source, hostgroups, carpets } = this.#options;
    const last = this.#lastSeconds;
    this.#lastSeconds = nowSeconds;
    const { baselines, wallSeconds = () => nowSeconds } = this.#options;
    baselines.beginPass(nowSeconds, { wallSeconds: wallSeconds() });
    if (last === null || !this.hasWork) return;
    const moment = { nowSeconds: Math.floor(nowSeconds), seconds: Math.min(nowSeconds - last, SECONDS_MAX) };
    this.#learnGroups(moment);
    carpets?.begin();
    this.#banned = this.#options.banned?.() ?? NONE_BANNED;
    for (let cursor = 0; cursor >= 0; ) {
      const { next, count } = source.readHosts(cursor, this.#rows);
      // Read together with the rows, which refer to these groups.
      const groups = hostgroups();
      for (let row = 0; row < count; row++) this.#look(row, groups[this.#rows.groups[row] as number], moment);
      cursor = next;
      yield;
    }
  }

  #look(row: number, group: Hostgroup | undefined, moment: Moment): void {
    const { active, baselines, carpets, windowMs } = this.#options;
    const rows = this.#rows;
    if (group === undefined || group.calculation === "total" || (rows.idleMs[row] as number) >= windowMs) return;
    const attacked = active.attackedHost(rows, row);
    for (const direction of DIRECTIONS) {
      if (attacked !== null && active.ofHost(attacked, direction) !== null) continue;
      // The traffic of a host with an attack of its own is not part of a carpet attack.
      if (direction === "incoming" && carpets?.isOn === true && carpets.add(rows, row)) continue;
      // Otherwise each ban would lower the normal rate, and the returning legitimate traffic would be an attack.
      if (group.baseline === null || this.#banned.holds(rows, row)) continue;
      // One object for all rows, to avoid a million allocations per pass.
      const learner = this.#learner;
      learner.keys = rows.addresses;
      learner.at = row * ADDRESS_BYTES;
      learner.group = group;
      learner.direction = direction;
      baselines.learn(learner, rows[direction], row * METRICS.length, moment);
    }
  }

  #learnGroups(moment: Moment): void {
    const { source, active, baselines, hostgroups } = this.#options;
    const groups = hostgroups();
    if (!groups.some(({ calculation, baseline }) => calculation === "total" && baseline !== null)) return;
    if (this.#groups.capacity !== groups.length) this.#groups = allocateHostRows(groups.length);
    source.readGroups(this.#groups);
    for (const [index, group] of groups.entries()) {
      if (group.calculation !== "total") continue;
      const from = index * METRICS.length;
      if ((this.#groups.incoming[from] as number) + (this.#groups.outgoing[from] as number) === 0) continue;
      for (const direction of DIRECTIONS) {
        if (active.ofGroup(group.name, direction) !== null) continue;
        baselines.learn(baselines.ofGroup(group, direction), this.#groups[direction], from, moment);
      }
    }
  }
}

interface Moment {
  readonly nowSeconds: number;
  readonly seconds: number;
}
