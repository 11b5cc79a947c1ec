/** Ticks and attacks. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { VECTORS, type Vector } from "../detection/attack/vector.ts";
import { METRICS, type Metric } from "../traffic/rates.ts";
import { setCounter } from "./capture-metrics.ts";

export interface TickReading {
  /** The fold, on its own thread. */
  readonly foldSeconds: number;
  /** Judging and acting, on the event loop. */
  readonly busySeconds: number;
  readonly screenedRows: number;
}

const TICK_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1];

export class DetectionMetrics {
  readonly #foldSeconds: Histogram;
  readonly #busySeconds: Histogram;
  readonly #screenedRows: Gauge;
  readonly #overflowRows: Counter;
  readonly #carpetOverflow: Counter;
  readonly #tickFaults: Counter;
  readonly #active: Gauge<"metric">;
  readonly #started: Counter<"metric">;
  readonly #classified: Counter<"vector">;
  readonly #refused: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#foldSeconds = new Histogram({
      name: "svc_tick_fold_seconds",
      help: "Time that a tick's fold of the host table took, on a thread of its own.",
      buckets: TICK_SECONDS,
      registers,
    });
    this.#busySeconds = new Histogram({
      name: "svc_tick_busy_seconds",
      help: "Time that a tick kept the event loop.",
      buckets: TICK_SECONDS,
      registers,
    });
    this.#screenedRows = new Gauge({
      name: "svc_screened_rows",
      help: "Hosts that the last tick handed over to be judged.",
      registers,
    });
    this.#overflowRows = new Counter({
      name: "svc_screened_rows_overflow_total",
      help: "Hosts that were not judged in a tick because too many were handed over.",
      registers,
    });
    this.#carpetOverflow = new Counter({
      name: "svc_carpet_hosts_overflow_total",
      help: "Times that a host was in the sum of no prefix because there are too many prefixes.",
      registers,
    });
    this.#tickFaults = new Counter({ name: "svc_tick_faults_total", help: "Ticks that failed.", registers });
    const labelNames = ["metric"] as const;
    this.#active = new Gauge({ name: "svc_attacks_active", help: "Attacks in progress.", labelNames, registers });
    this.#started = new Counter({ name: "svc_attacks_total", help: "Attacks that started.", labelNames, registers });
    this.#refused = new Counter({
      name: "svc_attacks_refused_total",
      help: "Detections that were not opened because too many attacks are in progress.",
      registers,
    });
    this.#classified = new Counter({
      name: "svc_attacks_classified_total",
      help: "Attacks whose vector was told, for the first time or anew.",
      labelNames: ["vector"] as const,
      registers,
    });
    for (const vector of VECTORS) this.#classified.inc({ vector }, 0);
    // A rate over a counter that appears at one misses its first attack.
    for (const metric of METRICS) this.#started.inc({ metric }, 0);
  }

  tick(reading: TickReading): void {
    this.#foldSeconds.observe(reading.foldSeconds);
    this.#busySeconds.observe(reading.busySeconds);
    this.#screenedRows.set(reading.screenedRows);
  }

  tickFailed(): void {
    this.#tickFaults.inc();
  }

  attackStarted(metric: Metric): void {
    this.#started.inc({ metric });
  }

  attackClassified(vector: Vector): void {
    this.#classified.inc({ vector });
  }

  setActive(attacks: Iterable<{ readonly metric: Metric }>): void {
    for (const metric of METRICS) this.#active.set({ metric }, 0);
    for (const { metric } of attacks) this.#active.inc({ metric });
  }

  /**
   * Counts that the detector keeps: detections that found its table full, rows that found no place in a tick, and hosts
   * that are in no prefix's sum.
   */
  setRefused(counts: { readonly attacks: number; readonly rows: number; readonly carpetHosts: number }): void {
    const { attacks, rows, carpetHosts } = counts;
    setCounter(this.#carpetOverflow, carpetHosts);
    setCounter(this.#refused, attacks);
    setCounter(this.#overflowRows, rows);
  }
}
