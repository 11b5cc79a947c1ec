/** The other brains of a cluster: whether they are reached, and what they have not confirmed. */
import { MetricGroup } from "./metric-group.ts";

interface BrainReading {
  readonly name: string;
  readonly isUp: boolean;
  /** null: not measured. */
  readonly skewSeconds: number | null;
  readonly unconfirmed: number;
  readonly oldestSeconds: number;
  readonly differing: number;
}

export class ClusterMetrics extends MetricGroup {
  readonly #up = this.gauge("svc_cluster_brain_up", "1 while messages of another brain arrive.", "brain");
  readonly #skew = this.gauge("svc_cluster_skew_seconds", "How far the clock of another brain is ahead.", "brain");
  readonly #unconfirmed = this.gauge(
    "svc_cluster_unconfirmed_orders",
    "Orders that another brain has not confirmed to have on disk.",
    "brain",
  );
  readonly #oldest = this.gauge(
    "svc_cluster_unconfirmed_seconds",
    "For how long the oldest of them has waited.",
    "brain",
  );
  readonly #differing = this.gauge(
    "svc_cluster_differing_sections",
    "Sections of the configuration in which another brain differs.",
    "brain",
  );
  readonly #orders = this.gauge(
    "svc_cluster_orders",
    "Orders that brains share, by what has become of them here.",
    "state",
  );
  readonly recordRefused = this.counting(
    "svc_cluster_refused_records_total",
    "Records of other brains that were not taken.",
    "cause",
  );
  readonly connectionRefused = this.counting(
    "svc_cluster_refused_connections_total",
    "Connections of callers that are no other brain, or that failed before that was known.",
  );
  readonly #failures = this.counter(
    "svc_cluster_link_failures_total",
    "Connections to another brain that ended or did not come about.",
    "brain",
  );
  readonly messageDropped = this.counting(
    "svc_cluster_dropped_messages_total",
    "Messages between brains that were dropped.",
    "cause",
  );
  readonly endsDropped = this.adding(
    "svc_cluster_dropped_ends_total",
    "Ends of orders that were forgotten before their time, as there were too many.",
    "table",
  );

  /** Called before each scrape. */
  set(brains: readonly BrainReading[], orders: Readonly<Record<string, number>>): void {
    for (const { name: brain, isUp, skewSeconds, unconfirmed, oldestSeconds, differing } of brains) {
      this.#up.set({ brain }, isUp ? 1 : 0);
      if (skewSeconds !== null) this.#skew.set({ brain }, skewSeconds);
      this.#unconfirmed.set({ brain }, unconfirmed);
      this.#oldest.set({ brain }, oldestSeconds);
      this.#differing.set({ brain }, differing);
      this.#failures.inc({ brain }, 0);
    }
    for (const [state, count] of Object.entries(orders)) this.#orders.set({ state }, count);
  }

  linkFailed(brain: string): void {
    this.#failures.inc({ brain });
  }
}
