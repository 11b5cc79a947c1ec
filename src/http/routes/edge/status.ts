/** The zones as the alive edge nodes serve them (docs/interface.md#zone-status). */

import { type Fleet, fleetTotals } from "../../../edge/fleet-status.ts";
import type { EdgeReports, FleetItem } from "../../../edge/reports/edge-reports.ts";
import type { ReadRoute } from "../../route.ts";
import { jsonBlobAnswer } from "../../server/answer.ts";
import { JsonArray } from "../../server/json-array.ts";
import { type Reader, type Slicing, TablePass } from "../../table-pass.ts";
import { FleetStatusWire, fleetRowToWire } from "../../wire/edge/status.ts";

export function edgeStatusRoute(reports: EdgeReports, slicing: Slicing): ReadRoute {
  // The fleet of the pass in progress, or of the last one.
  let fleet: Fleet = { alive: new Set(), reports: new Map() };
  const rows = new TablePass(() => {
    fleet = reports.fleet();
    return reports.rows(fleet);
  }, slicing);
  return {
    name: "edge_status",
    method: "GET",
    path: "/api/v1/edge/zones/status",
    access: "viewer",
    about: {
      summary:
        "Each zone as the alive edge nodes serve it, by their last reports; a token with a tenant sees its own zones",
      answers: { 200: { text: "The zones, by name.", schema: FleetStatusWire } },
    },
    handle: async ({ principal: { tenant } }) =>
      jsonBlobAnswer(await rows.read(JSON.stringify(tenant), () => new StatusReader(tenant, () => fleet))),
  };
}

class StatusReader implements Reader<FleetItem | null> {
  readonly #tenant: string | null;
  readonly #fleet: () => Fleet;
  readonly #array = new JsonArray();

  /** @param tenant whose zones are returned; null: all. */
  constructor(tenant: string | null, fleet: () => Fleet) {
    this.#tenant = tenant;
    this.#fleet = fleet;
  }

  /** Rows may be large, so each is serialized by itself. */
  see(item: FleetItem | null): void {
    if (item === null || (this.#tenant !== null && item.tenant !== this.#tenant)) return;
    this.#array.addNow(fleetRowToWire(item.row(), this.#tenant === null));
  }

  /** The numbers of nodes and of left-out items are of the whole fleet, for every caller. */
  answer(): Blob {
    const { alive, reporting, zonesCut, certsCut } = fleetTotals(this.#fleet());
    const head = {
      nodes_alive: alive,
      nodes_reporting: reporting,
      zones_truncated: zonesCut,
      certs_truncated: certsCut,
    };
    return new Blob([`${JSON.stringify(head).slice(0, -1)},"zones":`, ...this.#array.parts(), "}"]);
  }
}
