/** Watches for attacks that look like a lasting rise of legitimate traffic, and logs them. Decides nothing about them. */
import { BaselineRises } from "../detection/baseline/baseline-rises.ts";
import type { Hostgroup } from "../detection/hostgroup.ts";
import type { Detector } from "../detection/judge/detector.ts";
import type { Log } from "../observability/log.ts";
import type { Timers } from "../system/timers.ts";

const LOOK_MS = 1000;

interface RiseWatchOptions {
  readonly detector: Detector;
  readonly hostgroups: () => readonly Hostgroup[];
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** Returns the function that stops it. */
export function watchRises(timers: Timers, { detector, hostgroups, monotonicMs, log }: RiseWatchOptions): () => void {
  const rises = new BaselineRises();
  return timers.every(LOOK_MS, () => {
    for (const attack of rises.review(detector.active.values(), hostgroups(), monotonicMs())) {
      const { id, lastingRise, target, group, direction, metric, threshold, rates } = attack;
      detector.attach(id, { lastingRise });
      if (!lastingRise) continue;
      log.warn(
        { id, target, group, direction, metric, threshold, rates: Array.from(rates) },
        "an attack lasts for hours above the baseline and within all thresholds: if it is legitimate traffic that has grown, " +
          "lift its ban, and raise baseline.floor or baseline.factor of the hostgroup",
      );
    }
  });
}
