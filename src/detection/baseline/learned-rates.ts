/**
 * The table of normal rates in the addon, one row for each host or hostgroup, as TypeScript uses it. The pass over all
 * hosts runs there; TypeScript says what it learns from, and reads what was learned.
 */
import type { HostRows } from "../../traffic/host-rows.ts";
import type { PrefixSums } from "../carpet/prefix-sums.ts";

/** The part of a hostgroup that the addon knows; its index is that in the configuration. */
export interface LearnedGroup {
  /** Judged as a whole: its hosts are not learned, nor summed. */
  readonly isWhole: boolean;
  /** null: nothing is learned. */
  readonly rule: {
    readonly warmupSeconds: number;
    readonly halfLifeSeconds: number;
    readonly factor: number;
    /** For the base trio. */
    readonly floor: Float64Array;
    readonly isSeasonal: boolean;
  } | null;
}

interface LearningPass {
  /** Whole seconds of a clock that never goes back. */
  readonly nowSeconds: number;
  /** How long the rates count for. */
  readonly seconds: number;
  /** Hours since the epoch, and seconds into the present one. */
  readonly hour: number;
  readonly intoSeconds: number;
  /** Rows without traffic since then may lose their hours of the week. */
  readonly idleSeconds: number;
  /** Hosts without packets for this long are silent. */
  readonly windowMs: number;
}

/**
 * Values that read() writes for each direction of a key: seconds learned (-1: nothing is known of the key), the normal
 * base trio, and 1 where it is that of the hour of the week.
 */
export const READ_VALUES = 5;
/** A group that is not configured: its normal rates are the recent ones. */
export const NO_GROUP = 0xffff_ffff;

/** Includes the table of hours of the week. */
interface LearnedStats {
  readonly count: number;
  /** Times that no row was left. */
  readonly refused: number;
}

/** Keys are 16 bytes: a host's address, or a hostgroup's key. Directions: 0 incoming, 1 outgoing. */
export interface LearnedRates {
  setGroups(groups: readonly LearnedGroup[]): void;
  /** Hours of the week from now on, up to the given number. No effect after the first call. */
  addSeasons(hosts: number, groups: number): void;
  /** Holds for what is learned and read until the next call. */
  beginPass(pass: LearningPass): void;
  /**
   * Hosts that are attacked, by direction, and prefixes whose traffic bans keep away, with lengths of the 128-bit form:
   * nothing is learned from them.
   */
  setSpared(attackedIn: Uint8Array, attackedOut: Uint8Array, banned: Uint8Array, lengths: Uint8Array): void;
  /** Learns the first `count` rows, and sums them by prefix. null: they are not summed. */
  learnRows(rows: HostRows, count: number, sums: PrefixSums | null): void;
  learn(
    key: Uint8Array,
    group: number,
    direction: number,
    rates: Float64Array,
    nowSeconds: number,
    seconds: number,
  ): void;
  /** READ_VALUES for each direction of each of `count` keys from byte `at` on; `groups` are those of the keys. */
  read(keys: Uint8Array, at: number, groups: Uint32Array, count: number, out: Float64Array): void;
  stats(): LearnedStats & { readonly directions: number; readonly seasons: LearnedStats | null };
  /** Rows as the file of them has them (src/storage/baseline-file.ts): as many from `first` on as fit. */
  copyRows(first: number, nowSeconds: number, out: Uint8Array): void;
  /** Rows that are known already do not change. */
  takeRows(bytes: Uint8Array, directions: number, nowSeconds: number): void;
  /** Rows with hours of the week. */
  seasonRows(): Uint32Array;
  /** A row that has none any more gets a key of zeros, which matches no host. */
  copySeasons(rows: Uint32Array, out: Uint8Array): void;
  takeSeasons(bytes: Uint8Array, directions: number, idleSeconds: number): void;
  close(): void;
}
