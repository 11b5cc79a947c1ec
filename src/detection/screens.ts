/** What the packet counter must hand over: for each group the lowest rates that detection wants to see. */
import type { Hostgroup } from "../config/config.ts";
import { METRICS } from "../traffic/rates.ts";

/** 26 values a group, incoming then outgoing; Infinity where a metric is not judged. */
export function screensFor(hostgroups: readonly Hostgroup[]): Float64Array {
  const screens = new Float64Array(hostgroups.length * 2 * METRICS.length).fill(Number.POSITIVE_INFINITY);
  hostgroups.forEach((group, index) => {
    METRICS.forEach((_, metric) => {
      const threshold = group.thresholds[metric] as number;
      if (threshold > 0) screens[index * 2 * METRICS.length + metric] = threshold;
    });
  });
  return screens;
}
