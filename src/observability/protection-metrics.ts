/** Protection profiles that callers chose at run time. */
import { MetricGroup } from "./metric-group.ts";

type Counts = Readonly<Record<"active" | "inactive", number>>;

export class ProtectionMetrics extends MetricGroup {
  readonly #choices = this.gauge(
    "svc_protection_choices",
    "Protection profiles chosen at run time, by who chose them; inactive: the configuration does not allow them any more.",
    "chosen_by",
    "state",
  );
  readonly changed = this.countingOf(
    "svc_protection_changes_total",
    "Protection profiles that were chosen or removed.",
    "change",
    ["chosen", "removed"],
  );
  readonly #refused = this.counter(
    "svc_protection_refused_total",
    "Orders on protection profiles that were refused.",
    "reason",
  );

  /** Creates the labels with a value of 0. */
  declare(refusals: readonly string[]): void {
    for (const reason of refusals) this.#refused.inc({ reason }, 0);
  }

  set(counts: Readonly<Record<"operator" | "tenant", Counts>>): void {
    for (const [chosen_by, { active, inactive }] of Object.entries(counts)) {
      this.#choices.set({ chosen_by, state: "active" }, active);
      this.#choices.set({ chosen_by, state: "inactive" }, inactive);
    }
  }

  refused(reason: string): void {
    this.#refused.inc({ reason });
  }
}
