/** The edge channel: its nodes, zones and levers, and its calls for certificates. */
import { Counter, Gauge, type Registry } from "prom-client";
import { LIVENESSES } from "./scrub-metrics.ts";

export interface EdgeReading {
  readonly nodes: Iterable<(typeof LIVENESSES)[number]>;
  readonly zones: number;
  readonly levers: number;
  readonly grants: number;
  readonly challenges: number;
  readonly documents: number;
  readonly documentBytes: number;
}

const LEVER_CHANGES = ["set", "cleared", "expired", "refused"] as const;
export type LeverChange = (typeof LEVER_CHANGES)[number];

const ACME_CALLS = ["slot_granted", "slot_held", "slot_released", "published", "refused", "unknown_zone"] as const;
export type AcmeCall = (typeof ACME_CALLS)[number];

const UNSAVED_EDGE_STATE = ["levers", "clearance_masters"] as const;
export type UnsavedEdgeState = (typeof UNSAVED_EDGE_STATE)[number];

export class EdgeMetrics {
  readonly #nodes: Gauge<"state">;
  readonly #documentItems: Gauge<"kind">;
  readonly #documentBytes: Gauge;
  readonly #leverChanges: Counter<"change">;
  readonly #acmeCalls: Counter<"end">;
  readonly #saveFailures: Counter<"what">;
  readonly #reports: Counter;
  readonly #reportsLeftOut: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#nodes = new Gauge({
      name: "svc_edge_nodes",
      help: "Configured edge nodes: alive, not seen since the start, or lost.",
      labelNames: ["state"],
      registers,
    });
    this.#documentItems = new Gauge({
      name: "svc_edge_document_items",
      help: "Zones, levers, granted slots and live challenges in the zone documents, and the number of different documents.",
      labelNames: ["kind"],
      registers,
    });
    this.#documentBytes = new Gauge({
      name: "svc_edge_document_bytes",
      help: "Bytes of zone documents that are kept; beyond the bound the oldest are written again for each poll.",
      registers,
    });
    this.#leverChanges = new Counter({
      name: "svc_edge_lever_changes_total",
      help: "Levers that were set, cleared, expired or refused.",
      labelNames: ["change"],
      registers,
    });
    this.#acmeCalls = new Counter({
      name: "svc_edge_acme_calls_total",
      help: "Calls of edge nodes for slots and challenges, by result.",
      labelNames: ["end"],
      registers,
    });
    this.#saveFailures = new Counter({
      name: "svc_edge_save_failures_total",
      help: "Times that levers or clearance masters could not be saved; saving is tried again.",
      labelNames: ["what"],
      registers,
    });
    this.#reports = new Counter({ name: "svc_edge_reports_total", help: "Reports of edge nodes.", registers });
    this.#reportsLeftOut = new Counter({
      name: "svc_edge_reports_left_out_total",
      help: "Reports whose windows and changes are not in the history, because it was too slow or the node reports too often.",
      registers,
    });
    for (const change of LEVER_CHANGES) this.#leverChanges.inc({ change }, 0);
    for (const end of ACME_CALLS) this.#acmeCalls.inc({ end }, 0);
    for (const what of UNSAVED_EDGE_STATE) this.#saveFailures.inc({ what }, 0);
  }

  set({ nodes, documentBytes, ...items }: EdgeReading): void {
    const count = { alive: 0, not_seen: 0, lost: 0 };
    for (const liveness of nodes) count[liveness]++;
    for (const state of LIVENESSES) this.#nodes.set({ state }, count[state]);
    for (const [kind, value] of Object.entries(items)) this.#documentItems.set({ kind }, value);
    this.#documentBytes.set(documentBytes);
  }

  reported(): void {
    this.#reports.inc();
  }

  reportLeftOut(): void {
    this.#reportsLeftOut.inc();
  }

  lever(change: LeverChange): void {
    this.#leverChanges.inc({ change });
  }

  acme(end: AcmeCall): void {
    this.#acmeCalls.inc({ end });
  }

  saveFailed(what: UnsavedEdgeState): void {
    this.#saveFailures.inc({ what });
  }
}
