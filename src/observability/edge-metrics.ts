/** The edge channel: its nodes, zones and levers, and its calls for certificates. */
import { MetricGroup } from "./metric-group.ts";
import { LIVENESSES } from "./scrub-metrics.ts";

interface EdgeReading {
  readonly nodes: Iterable<(typeof LIVENESSES)[number]>;
  readonly zones: number;
  readonly levers: number;
  readonly grants: number;
  readonly challenges: number;
  readonly documents: number;
  readonly documentBytes: number;
}

const LEVER_CHANGES = ["set", "cleared", "expired", "refused"] as const;

const ACME_CALLS = ["slot_granted", "slot_held", "slot_released", "published", "refused", "unknown_zone"] as const;

const UNSAVED_EDGE_STATE = ["levers", "clearance_masters"] as const;

export class EdgeMetrics extends MetricGroup {
  readonly #nodes = this.gauge(
    "svc_edge_nodes",
    "Configured edge nodes: alive, not seen since the start, or lost.",
    "state",
  );
  readonly #documentItems = this.gauge(
    "svc_edge_document_items",
    "Zones, levers, granted slots and live challenges in the zone documents, and the number of different documents.",
    "kind",
  );
  readonly #documentBytes = this.gauge(
    "svc_edge_document_bytes",
    "Bytes of zone documents that are kept; beyond the bound the oldest are written again for each poll.",
  );
  readonly lever = this.countingOf(
    "svc_edge_lever_changes_total",
    "Levers that were set, cleared, expired or refused.",
    "change",
    LEVER_CHANGES,
  );
  readonly acme = this.countingOf(
    "svc_edge_acme_calls_total",
    "Calls of edge nodes for slots and challenges, by result.",
    "end",
    ACME_CALLS,
  );
  readonly saveFailed = this.countingOf(
    "svc_edge_save_failures_total",
    "Times that levers or clearance masters could not be saved; saving is tried again.",
    "what",
    UNSAVED_EDGE_STATE,
  );
  readonly reported = this.counting("svc_edge_reports_total", "Reports of edge nodes.");
  readonly reportLeftOut = this.counting(
    "svc_edge_reports_left_out_total",
    "Reports whose windows and changes are not in the history, because it was too slow or the node reports too often.",
  );

  set({ nodes, documentBytes, ...items }: EdgeReading): void {
    const count = { alive: 0, not_seen: 0, unknown: 0, lost: 0 };
    for (const liveness of nodes) count[liveness]++;
    for (const state of LIVENESSES) this.#nodes.set({ state }, count[state]);
    for (const [kind, value] of Object.entries(items)) this.#documentItems.set({ kind }, value);
    this.#documentBytes.set(documentBytes);
  }
}
