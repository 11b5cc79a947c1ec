/** Incidents: how many are kept, and what people do with them. */
import { MetricGroup } from "./metric-group.ts";

export class IncidentMetrics extends MetricGroup {
  readonly #incidents = this.gauge("svc_incidents", "Incidents kept, by state.", "state");
  readonly opened = this.counting("svc_incidents_opened_total", "Incidents that began.");
  readonly dropped = this.counting(
    "svc_incidents_dropped_total",
    "Closed incidents that were forgotten because too many were kept.",
  );
  readonly unplaced = this.counting(
    "svc_incident_attacks_unplaced_total",
    "Attacks that are in no incident because too many incidents are open.",
  );
  readonly worked = this.counting(
    "svc_incident_orders_total",
    "Orders on incidents that were carried out: owner, acknowledgement, classification, note.",
  );
  readonly #refused = this.counter(
    "svc_incident_orders_refused_total",
    "Orders on incidents that were refused.",
    "reason",
  );

  /** Creates the labels with a value of 0. */
  declare(refusals: readonly string[]): void {
    for (const reason of refusals) this.#refused.inc({ reason }, 0);
  }

  set(counts: Readonly<Record<"active" | "quiet" | "closed", number>>): void {
    for (const [state, count] of Object.entries(counts)) this.#incidents.set({ state }, count);
  }

  refused(reason: string): void {
    this.#refused.inc({ reason });
  }
}
