/**
 * The highest rates of hosts and hostgroups over days, as thresholds are proposed from them: of each the highest of each day,
 * and of these a high one that not every bad day decides.
 */

export interface PeaksQuery {
  /** Wall clock, ms. */
  readonly fromMs: number;
  readonly toMs: number;
}

export interface HostPeaks {
  /** The address of a host, or the totalSeries() of a hostgroup. */
  readonly key: string;
  readonly outgoing: boolean;
  /** Outside of attacks, per second: the daily peak that at most a tenth of the days exceed. */
  readonly pps: number;
  readonly mbps: number;
  readonly flowsPerSec: number;
}

export interface TrafficPeaks {
  /** UTC days with records, by their number since the epoch, oldest first, with the seconds recorded of each. */
  readonly days: readonly { readonly day: number; readonly seconds: number }[];
  /** The highest first. */
  readonly hosts: readonly HostPeaks[];
  /** Hosts that have no row, as there are too many. */
  readonly leftOut: number;
}

export const DAY_SECONDS = 86_400;
/** Hosts of one answer, those with the most packets. */
export const PEAK_HOSTS_MAX = 20_000;

/** How many daily peaks are above the one that counts, of this number of days: one bad day of ten does not count. */
export function daysAbove(days: number): number {
  return Math.floor(days / 10);
}

/** Names of series that are no hosts and no sums of hostgroups by themselves. @param name as in the history */
export function isPeakSeries(name: string): boolean {
  return name.startsWith("hostgroup: ") || !/^(total|by |hostgroup )/.test(name);
}
