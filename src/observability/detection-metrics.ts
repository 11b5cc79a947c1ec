/** Ticks and attacks. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { VECTORS, type Vector } from "../detection/attack/vector.ts";
import { METRICS, type Metric } from "../traffic/rates.ts";
import { setCounter } from "./capture-metrics.ts";

export interface TickReading {
  /** Duration of the fold, which runs on its own thread. */
  readonly foldSeconds: number;
  /** Duration of judging and acting, on the event loop. */
  readonly busySeconds: number;
  readonly screenedRows: number;
}

export interface RefusedReading {
  readonly attacks: number;
  readonly replaced: number;
  readonly rows: number;
  readonly carpetHosts: number;
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
  readonly #replaced: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#foldSeconds = new Histogram({
      name: "svc_tick_fold_seconds",
      help: "Time that a tick's fold of the host table took, on its own thread, in seconds.",
      buckets: TICK_SECONDS,
      registers,
    });
    this.#busySeconds = new Histogram({
      name: "svc_tick_busy_seconds",
      help: "Time that a tick occupied the event loop, in seconds.",
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
      help: "Hosts that were not judged in a tick because there were too many.",
      registers,
    });
    this.#carpetOverflow = new Counter({
      name: "svc_carpet_hosts_overflow_total",
      help: "Times that a host was in no prefix sum because there are too many prefixes.",
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
    this.#replaced = new Counter({
      name: "svc_attacks_replaced_total",
      help: "Calm or small attacks that ended early because too many attacks are in progress and a larger one started.",
      registers,
    });
    this.#classified = new Counter({
      name: "svc_attacks_classified_total",
      help: "Classifications of attacks, first and changed ones.",
      labelNames: ["vector"] as const,
      registers,
    });
    for (const vector of VECTORS) this.#classified.inc({ vector }, 0);
    // Starts at 0: a rate over a counter that first appears with 1 misses the first attack.
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
   * Counts of the detector: detections refused and attacks replaced because its table was full, rows not judged in a
   * tick, and hosts in no prefix sum.
   */
  setRefused(counts: RefusedReading): void {
    const { attacks, replaced, rows, carpetHosts } = counts;
    setCounter(this.#replaced, replaced);
    setCounter(this.#carpetOverflow, carpetHosts);
    setCounter(this.#refused, attacks);
    setCounter(this.#overflowRows, rows);
  }
}
