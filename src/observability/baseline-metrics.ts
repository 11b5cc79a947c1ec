/** Baselines: how many are learned, and failures. */
import { MetricGroup, setCounter } from "./metric-group.ts";

const OPERATIONS = ["load", "save", "learn"] as const;

/** The size of a table, and how often it was full. */
interface Filled {
  readonly count: number;
  readonly refused: number;
}

export class BaselineMetrics extends MetricGroup {
  readonly #known = this.gauge("svc_baselines", "Hosts and hostgroups with a baseline.");
  readonly #refused = this.counter(
    "svc_baselines_refused_total",
    "Times that a host was not learned from because the table of baselines was full.",
  );
  readonly #seasonal = this.gauge(
    "svc_baselines_seasonal",
    "Hosts and hostgroups with a baseline by hour of the week.",
  );
  readonly #seasonalRefused = this.counter(
    "svc_baselines_seasonal_refused_total",
    "Times that a host was not learned by hour of the week because the table was full.",
  );
  readonly #rises = this.gauge(
    "svc_attacks_lasting_rise",
    "Attacks in progress that have been above the baseline for hours and within all thresholds, and so may be legitimate growth.",
  );
  readonly #faults = this.counterOf(
    "svc_baseline_faults_total",
    "Failures to read, save or learn baselines.",
    "operation",
    OPERATIONS,
  );

  failed(operation: (typeof OPERATIONS)[number]): void {
    this.#faults.inc({ operation });
  }

  /** Counts attacks in progress only. */
  setLastingRises(count: number): void {
    this.#rises.set(count);
  }

  set({ count, refused, seasons }: Filled & { readonly seasons: Filled | null }): void {
    this.#known.set(count);
    setCounter(this.#refused, refused);
    this.#seasonal.set(seasons?.count ?? 0);
    setCounter(this.#seasonalRefused, seasons?.refused ?? 0);
  }
}
