/** The lowest rates, for each group, at which the packet counter hands a host over to detection. */
import { METRICS } from "../../traffic/rates.ts";
import type { Hostgroup } from "../hostgroup.ts";

/** 26 values per group, incoming then outgoing; Infinity for a metric that is not judged. */
export function screensFor(hostgroups: readonly Hostgroup[]): Float64Array {
  const screens = new Float64Array(hostgroups.length * 2 * METRICS.length).fill(Number.POSITIVE_INFINITY);
  hostgroups.forEach(({ calculation, thresholds, thresholdsOutgoing, baseline }, group) => {
    // A group with `total` does not judge its hosts.
    if (calculation === "total") return;
    [...thresholds, ...(thresholdsOutgoing ?? [])].forEach((threshold, i) => {
      // Learning may lower a host's limit to the floor.
      const floor = baseline?.floor[i % METRICS.length] ?? threshold;
      if (threshold > 0) screens[group * 2 * METRICS.length + i] = Math.min(threshold, floor);
    });
  });
  return screens;
}
