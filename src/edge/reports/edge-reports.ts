/**
 * The last report of each edge node, and the state of the fleet according to these (docs/interface.md#edge-report).
 * Presence belongs to the nodes, and the history to its writer; reports arrive parsed and validated.
 */
import type { EdgeNodes } from "../edge-nodes.ts";
import { FleetIndex } from "../fleet-index.ts";
import type { Fleet, FleetRow } from "../fleet-status.ts";
import type { Zone } from "../zones/zone.ts";
import type { ChallengeOverride } from "../zones/zone-documents.ts";
import type { EdgeReport } from "./report.ts";

interface EdgeReportsOptions {
  readonly nodes: EdgeNodes;
  /** Levers by zone; some may have expired. */
  readonly overrides: () => ReadonlyMap<string, ChallengeOverride>;
  /** Wall clock, ms. */
  readonly wallMs: () => number;
  /** Called for each report after it is stored; must return quickly. */
  readonly onReport: (node: string, stored: StoredEdgeReport) => void;
}

export interface StoredEdgeReport {
  readonly report: EdgeReport;
  /** Wall clock, ms. */
  readonly reportedAt: number;
}

/** A row that is built on demand, since a caller may need only a few. */
export interface FleetItem {
  readonly name: string;
  /** null: no tenant owns it, or the zone is not in the file any more. */
  readonly tenant: string | null;
  row(): FleetRow;
}

export class EdgeReports {
  readonly #options: EdgeReportsOptions;
  readonly #reports = new Map<string, StoredEdgeReport>();
  readonly #listeners: EdgeReportsOptions["onReport"][] = [];

  constructor(options: EdgeReportsOptions) {
    this.#options = options;
  }

  /** The node must be configured. */
  report(node: string, report: EdgeReport): void {
    const stored = { report, reportedAt: this.#options.wallMs() };
    this.#reports.set(node, stored);
    this.#options.onReport(node, stored);
    for (const listener of this.#listeners) listener(node, stored);
  }

  /** Calls the listener for reports of nodes that report to this brain. */
  onOwn(listener: EdgeReportsOptions["onReport"]): void {
    this.#listeners.push(listener);
  }

  /** The node, which is configured, has reported to another brain. */
  adopt(node: string, report: EdgeReport): void {
    this.#reports.set(node, { report, reportedAt: this.#options.wallMs() });
  }

  /** null: none yet. */
  reportOf(node: string): StoredEdgeReport | null {
    return this.#reports.get(node) ?? null;
  }

  /** Whether the node was in dry run at its last report; null: it did not say. */
  isDryRun(node: string): boolean | null {
    return this.#reports.get(node)?.report.isDryRun ?? null;
  }

  /** Forgets the reports of nodes that were removed. */
  reconfigured(): void {
    for (const node of this.#reports.keys()) if (!this.#options.nodes.has(node)) this.#reports.delete(node);
  }

  /** The state at this moment. */
  fleet(): Fleet {
    const { nodes } = this.#options;
    const alive = new Set<string>();
    const reports = new Map<string, EdgeReport>();
    for (const { name } of nodes.nodes()) {
      if (!nodes.isAlive(name)) continue;
      alive.add(name);
      const stored = this.#reports.get(name);
      if (stored !== undefined) reports.set(name, stored.report);
    }
    return { alive, reports };
  }

  /**
   * Sorted by name: all zones of the file, and other zones that still have a lever. Placement and levers are those at
   * the time of the call; the rest is computed during iteration, a little with each item: null is an item before the
   * first row.
   */
  rows(fleet: Fleet): Iterable<FleetItem | null> {
    const { nodes, overrides, wallMs } = this.#options;
    const nowMs = wallMs();
    const levers = new Map([...overrides()].filter(([, { untilMs }]) => untilMs > nowMs));
    const zones = [...nodes.zones()].map((zone) => ({
      name: zone.name,
      zone,
      placed: nodes.nodesOf(zone.name),
      override: levers.get(zone.name) ?? null,
    }));
    const removed = [...levers].filter(([name]) => nodes.zone(name) === null);
    const lines = [...zones, ...removed.map(([name, override]) => ({ name, zone: null, override }))];
    const index = new FleetIndex(fleet, (name) => nodes.zone(name) !== null);
    return fleetItems(lines.sort(byName), index);
  }
}

type Line = { readonly name: string } & (
  | { readonly zone: Zone; readonly placed: readonly string[]; readonly override: ChallengeOverride | null }
  | { readonly zone: null; readonly override: ChallengeOverride }
);

function* fleetItems(lines: readonly Line[], index: FleetIndex): Generator<FleetItem | null> {
  for (const _ of index.build()) yield null;
  for (const line of lines) {
    let made: FleetRow | null = null;
    yield {
      name: line.name,
      tenant: line.zone?.tenant ?? null,
      row: () => {
        made ??= fleetRow(line, index);
        return made;
      },
    };
  }
}

function fleetRow(line: Line, index: FleetIndex): FleetRow {
  return line.zone === null
    ? { kind: "removed", name: line.name, override: line.override }
    : index.statusOf(line.zone, line.placed, line.override);
}

function byName(a: Line, b: Line): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
