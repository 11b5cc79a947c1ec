/** What the packet counter must hand over: for each group the lowest rates that detection wants to see. */
import type { Hostgroup } from "../../config/config.ts";
import { METRICS } from "../../traffic/rates.ts";

/** 26 values a group, incoming then outgoing; Infinity where a metric is not judged. */
export function screensFor(hostgroups: readonly Hostgroup[]): Float64Array {
  const screens = new Float64Array(hostgroups.length * 2 * METRICS.length).fill(Number.POSITIVE_INFINITY);
  hostgroups.forEach(({ calculation, thresholds, thresholdsOutgoing, baseline }, group) => {
    // The hosts of a group that is judged as a whole are not.
    if (calculation === "total") return;
    [...thresholds, ...(thresholdsOutgoing ?? [])].forEach((threshold, i) => {
      // What is learned of a host may bring its limit down to the floor.
      const floor = baseline?.floor[i % METRICS.length] ?? threshold;
      if (threshold > 0) screens[group * 2 * METRICS.length + i] = Math.min(threshold, floor);
    });
  });
  return screens;
}
