/** What is normal: how much of it is known, and what went wrong with it. */
import { Counter, Gauge, type Registry } from "prom-client";
import { setCounter } from "./capture-metrics.ts";

const OPERATIONS = ["load", "save", "learn"] as const;

/** How much of a table is taken, and how often there was no room. */
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
      help: "Hosts and hostgroups whose baseline is kept by hour of the week.",
      registers,
    });
    this.#seasonalRefused = new Counter({
      name: "svc_baselines_seasonal_refused_total",
      help: "Times that a host was not learned by hour of the week because all places were taken.",
      registers,
    });
    this.#rises = new Gauge({
      name: "svc_attacks_lasting_rise",
      help: "Attacks in progress that are above the baseline for hours and within all thresholds: perhaps they are none.",
      registers,
    });
    this.#faults = new Counter({
      name: "svc_baseline_faults_total",
      help: "Reading, saving or learning of baselines that failed.",
      labelNames: ["operation"],
      registers,
    });
    for (const operation of OPERATIONS) this.#faults.inc({ operation }, 0);
  }

  failed(operation: (typeof OPERATIONS)[number]): void {
    this.#faults.inc({ operation });
  }

  /** Of the attacks in progress. */
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
