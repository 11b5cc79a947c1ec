/**
 * The last report of each edge node, and the fleet as these tell of it (interface 2.12 to 2.14). Presence is the nodes'
 * matter, and what goes to the history the recorder's; reports come in read and checked.
 */
import type { EdgeNodes } from "./edge-nodes.ts";
import { type Fleet, type FleetRow, zoneStatus } from "./fleet-status.ts";
import type { EdgeReport } from "./report.ts";
import type { Zone } from "./zone.ts";
import type { ChallengeOverride } from "./zone-documents.ts";

export interface EdgeReportsOptions {
  readonly nodes: EdgeNodes;
  /** Levers, by zone; some may have lapsed. */
  readonly overrides: () => ReadonlyMap<string, ChallengeOverride>;
  /** Wall clock, ms. */
  readonly wallMs: () => number;
  /** Told of each report after it is stored; may not take long. */
  readonly onReport: (node: string, stored: StoredEdgeReport) => void;
}

export interface StoredEdgeReport {
  readonly report: EdgeReport;
  /** Wall clock, ms. */
  readonly reportedAt: number;
}

/** A row that is made when it is asked for: a caller may want few of many. */
export interface FleetItem {
  readonly name: string;
  /** null: nobody's, or the zone is in the file no more. */
  readonly tenant: string | null;
  row(): FleetRow;
}

export class EdgeReports {
  readonly #options: EdgeReportsOptions;
  readonly #reports = new Map<string, StoredEdgeReport>();

  constructor(options: EdgeReportsOptions) {
    this.#options = options;
  }

  /** Of a configured node. */
  report(node: string, report: EdgeReport): void {
    const stored = { report, reportedAt: this.#options.wallMs() };
    this.#reports.set(node, stored);
    this.#options.onReport(node, stored);
  }

  /** null: none yet. */
  reportOf(node: string): StoredEdgeReport | null {
    return this.#reports.get(node) ?? null;
  }

  /** Whether the node only watches, by its last report; null: it did not say. */
  isDryRun(node: string): boolean | null {
    return this.#reports.get(node)?.report.isDryRun ?? null;
  }

  /** The nodes are others: reports of those that are gone are forgotten. */
  reconfigured(): void {
    for (const node of this.#reports.keys()) if (!this.#options.nodes.has(node)) this.#reports.delete(node);
  }

  /** As of now. */
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
   * By name: all zones of the file, and those that have a lever still. Placement and levers are of the moment of the call;
   * zones times nodes may be a million, so the rest is made while it is read.
   */
  rows(fleet: Fleet): Iterable<FleetItem> {
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
    return fleetItems(lines.sort(byName), fleet);
  }
}

type Line = { readonly name: string } & (
  | { readonly zone: Zone; readonly placed: readonly string[]; readonly override: ChallengeOverride | null }
  | { readonly zone: null; readonly override: ChallengeOverride }
);

function* fleetItems(lines: readonly Line[], fleet: Fleet): Generator<FleetItem> {
  for (const line of lines) {
    let made: FleetRow | null = null;
    yield {
      name: line.name,
      tenant: line.zone?.tenant ?? null,
      row: () => {
        made ??= fleetRow(line, fleet);
        return made;
      },
    };
  }
}

function fleetRow(line: Line, fleet: Fleet): FleetRow {
  return line.zone === null
    ? { kind: "removed", name: line.name, override: line.override }
    : zoneStatus(line.zone, line.placed, fleet, line.override);
}

function byName(a: Line, b: Line): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
