/** Ticks and attacks. */

import { VECTORS } from "../detection/attack/vector.ts";
import { METRICS, type Metric } from "../traffic/rates.ts";
import { MetricGroup, setCounter } from "./metric-group.ts";

export interface TickReading {
  /** Duration of the fold, which runs on its own thread. */
  readonly foldSeconds: number;
  /** Duration of judging and acting, on the event loop. */
  readonly busySeconds: number;
  readonly screenedRows: number;
}

interface RefusedReading {
  readonly attacks: number;
  readonly replaced: number;
  readonly rows: number;
  readonly carpetHosts: number;
  readonly doubts: number;
}

const TICK_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1];

export class DetectionMetrics extends MetricGroup {
  readonly #foldSeconds = this.histogram(
    "svc_tick_fold_seconds",
    "Time that a tick's fold of the host table took, on its own thread, in seconds.",
    TICK_SECONDS,
  );
  readonly #busySeconds = this.histogram(
    "svc_tick_busy_seconds",
    "Time that a tick occupied the event loop, in seconds.",
    TICK_SECONDS,
  );
  readonly #screenedRows = this.gauge("svc_screened_rows", "Hosts that the last tick handed over to be judged.");
  readonly #overflowRows = this.counter(
    "svc_screened_rows_overflow_total",
    "Hosts that were not judged in a tick because there were too many.",
  );
  readonly #carpetOverflow = this.counter(
    "svc_carpet_hosts_overflow_total",
    "Times that a host was in no prefix sum because there are too many prefixes.",
  );
  readonly #doubts = this.counter(
    "svc_sampled_windows_refused_total",
    "Times that the samples of a host, hostgroup or prefix above a threshold were judged in one window only, because the samples of too many others are added up.",
  );
  readonly tickFailed = this.counting("svc_tick_faults_total", "Ticks that failed.");
  readonly #active = this.gauge("svc_attacks_active", "Attacks in progress.", "metric");
  readonly attackStarted = this.countingOf("svc_attacks_total", "Attacks that started.", "metric", METRICS);
  readonly #refused = this.counter(
    "svc_attacks_refused_total",
    "Detections that were not opened because too many attacks are in progress.",
  );
  readonly #replaced = this.counter(
    "svc_attacks_replaced_total",
    "Calm or small attacks that ended early because too many attacks are in progress and a larger one started.",
  );
  readonly attackClassified = this.countingOf(
    "svc_attacks_classified_total",
    "Classifications of attacks, first and changed ones.",
    "vector",
    VECTORS,
  );

  tick(reading: TickReading): void {
    this.#foldSeconds.observe(reading.foldSeconds);
    this.#busySeconds.observe(reading.busySeconds);
    this.#screenedRows.set(reading.screenedRows);
  }

  setActive(attacks: Iterable<{ readonly metric: Metric }>): void {
    for (const metric of METRICS) this.#active.set({ metric }, 0);
    for (const { metric } of attacks) this.#active.inc({ metric });
  }

  /**
   * Counts of the detector: detections refused and attacks replaced because its table was full, rows not judged in a
   * tick, hosts in no prefix sum, and samples that are not added up.
   */
  setRefused(counts: RefusedReading): void {
    const { attacks, replaced, rows, carpetHosts, doubts } = counts;
    setCounter(this.#doubts, doubts);
    setCounter(this.#replaced, replaced);
    setCounter(this.#carpetOverflow, carpetHosts);
    setCounter(this.#refused, attacks);
    setCounter(this.#overflowRows, rows);
  }
}
