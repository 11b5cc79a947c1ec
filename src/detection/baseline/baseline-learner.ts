/**
 * Learns from all hosts and hostgroups that have traffic and are not attacked: one pass about every second. The addon
 * goes through the hosts, in slices of some ten thousand; what it learns from is said here, before each slice. The same
 * pass sums the hosts of each prefix.
 */

import { ADDRESS_BYTES, addressToBytes, type IpAddress } from "../../net/address.ts";
import { allocateHostRows, type HostRows } from "../../traffic/host-rows.ts";
import { DIRECTIONS, METRICS } from "../../traffic/rates.ts";
import type { ActiveAttacks } from "../attack/active-attacks.ts";
import type { CarpetScan } from "../carpet/carpet-scan.ts";
import type { PrefixSums } from "../carpet/prefix-sums.ts";
import type { Hostgroup } from "../hostgroup.ts";
import type { Baselines } from "./baselines.ts";
import type { LearnedRates } from "./learned-rates.ts";

/** The part of the packet counter that is used. */
export interface AllRates {
  /** Learns from a slice of all hosts: start with cursor 0 and continue with the result; -1 is the end. */
  learnHosts(rates: LearnedRates, sums: PrefixSums | null, cursor: number): number;
  /** The same on a thread of its own. Only one slice at a time. */
  learnHostsAsync(rates: LearnedRates, sums: PrefixSums | null, cursor: number): Promise<number>;
  /** Sums by hostgroup: row i is group i. */
  readGroups(out: HostRows): number;
}

/** Prefixes whose traffic bans drop: their remaining traffic is not normal. */
export interface BannedPrefixes {
  /** 16 bytes each. */
  readonly addresses: Uint8Array;
  /** In the 128-bit form. */
  readonly lengths: Uint8Array;
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
  readonly banned?: () => BannedPrefixes;
  /** Unix time, for the hour of the week; absent: that of the passes. */
  readonly wallSeconds?: () => number;
}

/** The longest time that one pass counts for, seconds: the rates are current ones. */
const SECONDS_MAX = 5;
const NONE_BANNED: BannedPrefixes = { addresses: new Uint8Array(0), lengths: new Uint8Array(0) };

export class BaselineLearner {
  readonly #options: BaselineLearnerOptions;
  #groups = allocateHostRows(0);
  #lastSeconds: number | null = null;
  #banned = NONE_BANNED;
  /** Version of the attacks that the addon knows; -1: none of this pass. */
  #spared = -1;

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

  /** On this thread, for a replay. Yields after each slice. */
  *pass(nowSeconds: number): Generator<void> {
    const { source } = this.#options;
    const rates = this.#begin(nowSeconds);
    for (let cursor = rates === null ? -1 : 0; rates !== null && cursor >= 0; ) {
      this.#setSpared(rates);
      cursor = source.learnHosts(rates, this.#sums, cursor);
      yield;
    }
  }

  /** On a thread of the addon's. Yields after each slice, during which other work runs. */
  async *passAside(nowSeconds: number): AsyncGenerator<void> {
    const { source } = this.#options;
    const rates = this.#begin(nowSeconds);
    for (let cursor = rates === null ? -1 : 0; rates !== null && cursor >= 0; ) {
      this.#setSpared(rates);
      cursor = await source.learnHostsAsync(rates, this.#sums, cursor);
      yield;
    }
  }

  /** null: there is nothing to learn. */
  #begin(nowSeconds: number): LearnedRates | null {
    const { baselines, carpets, banned, windowMs, wallSeconds = () => nowSeconds } = this.#options;
    const last = this.#lastSeconds;
    this.#lastSeconds = nowSeconds;
    const seconds = last === null ? 0 : Math.min(nowSeconds - last, SECONDS_MAX);
    baselines.beginPass(nowSeconds, { wallSeconds: wallSeconds(), seconds, windowMs });
    if (last === null || !this.hasWork) return null;
    this.#learnGroups({ nowSeconds: Math.floor(nowSeconds), seconds });
    carpets?.begin();
    this.#banned = banned?.() ?? NONE_BANNED;
    this.#spared = -1;
    return baselines.rates;
  }

  get #sums(): PrefixSums | null {
    const { carpets } = this.#options;
    return carpets?.isOn === true ? carpets.sums : null;
  }

  /** Attacks start and end while a pass is in progress. */
  #setSpared(rates: LearnedRates): void {
    const { active } = this.#options;
    if (this.#spared === active.hostsVersion) return;
    this.#spared = active.hostsVersion;
    const { addresses, lengths } = this.#banned;
    rates.setSpared(bytesOf(active.hosts("incoming")), bytesOf(active.hosts("outgoing")), addresses, lengths);
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

function bytesOf(targets: readonly IpAddress[]): Uint8Array {
  const bytes = new Uint8Array(targets.length * ADDRESS_BYTES);
  let at = 0;
  for (const target of targets) {
    bytes.set(addressToBytes(target), at);
    at += ADDRESS_BYTES;
  }
  return bytes;
}
