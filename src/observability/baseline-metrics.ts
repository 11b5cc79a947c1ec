/** Baselines: how many are learned, and failures. */
import { Counter, Gauge, type Registry } from "prom-client";
import { setCounter } from "./capture-metrics.ts";

const OPERATIONS = ["load", "save", "learn"] as const;

/** The size of a table, and how often it was full. */
interface Filled {
  readonly count: number;
  readonly refused: number;
}

export class BaselineMetrics {
  readonly #known: Gauge;
  readonly #refused: Counter;
  readonly #seasonal: Gauge;
  readonly #seasonalRefused: Counter;
  readonly #rises: Gauge;
  readonly #faults: Counter<"operation">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#known = new Gauge({ name: "svc_baselines", help: "Hosts and hostgroups with a baseline.", registers });
    this.#refused = new Counter({
      name: "svc_baselines_refused_total",
      help: "Times that a host was not learned from because the table of baselines was full.",
      registers,
    });
    this.#seasonal = new Gauge({
      name: "svc_baselines_seasonal",
      help: "Hosts and hostgroups with a baseline by hour of the week.",
      registers,
    });
    this.#seasonalRefused = new Counter({
      name: "svc_baselines_seasonal_refused_total",
      help: "Times that a host was not learned by hour of the week because the table was full.",
      registers,
    });
    this.#rises = new Gauge({
      name: "svc_attacks_lasting_rise",
      help: "Attacks in progress that have been above the baseline for hours and within all thresholds, and so may be legitimate growth.",
      registers,
    });
    this.#faults = new Counter({
      name: "svc_baseline_faults_total",
      help: "Failures to read, save or learn baselines.",
      labelNames: ["operation"],
      registers,
    });
    for (const operation of OPERATIONS) this.#faults.inc({ operation }, 0);
  }

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
