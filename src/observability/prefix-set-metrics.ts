/** Named sets of prefixes: how many prefixes each has, how old its file is, and failed readings. */
import { MetricGroup } from "./metric-group.ts";

interface PrefixSetReading {
  readonly name: string;
  readonly prefixes: number;
  /** null: it has no file. */
  readonly ageSeconds: number | null;
}

export class PrefixSetMetrics extends MetricGroup {
  readonly #prefixes = this.gauge("svc_prefix_set_prefixes", "Prefixes of a named set.", "set");
  readonly #age = this.gauge(
    "svc_prefix_set_age_seconds",
    "Seconds since the file was written that a named set has its prefixes from.",
    "set",
  );
  readonly #errors = this.counter(
    "svc_prefix_set_errors_total",
    "Readings of a named set that failed, after which it kept its last good prefixes.",
    "set",
  );

  /** Takes the readings of all sets; others are not shown any more. */
  set(readings: readonly PrefixSetReading[]): void {
    this.#prefixes.reset();
    this.#age.reset();
    for (const { name, prefixes, ageSeconds } of readings) {
      this.#prefixes.set({ set: name }, prefixes);
      if (ageSeconds !== null) this.#age.set({ set: name }, ageSeconds);
      // Creates the label with a value of 0.
      this.#errors.inc({ set: name }, 0);
    }
  }

  failed(name: string): void {
    this.#errors.inc({ set: name });
  }
}
