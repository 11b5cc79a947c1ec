/**
 * Indexes the last reports of alive nodes by zone, for one reading of the fleet: zones times nodes may be a million
 * pairs, most of which have no data.
 */
import { type Fleet, type NodeClaim, type Placed, type ZoneStatus, zoneStatus } from "./fleet-status.ts";
import type { EdgeReport } from "./reports/report.ts";
import type { Zone } from "./zones/zone.ts";
import type { ChallengeOverride } from "./zones/zone-documents.ts";

interface Place extends Placed {
  readonly names: ReadonlySet<string>;
}

export class FleetIndex {
  readonly #fleet: Fleet;
  readonly #isZone: (name: string) => boolean;
  /** By zone. */
  readonly #claims = new Map<string, NodeClaim[]>();
  /** Many zones share the same list of nodes. */
  readonly #places = new Map<readonly string[], Place>();

  /** @param isZone returns false for names that are not needed. */
  constructor(fleet: Fleet, isZone: (name: string) => boolean) {
    this.#fleet = fleet;
    this.#isZone = isZone;
  }

  /** Indexes one report per step. */
  *build(): Generator<undefined> {
    for (const [node, report] of this.#fleet.reports) {
      const claim = { node, report };
      for (const name of namesIn(report)) if (this.#isZone(name)) this.#add(name, claim);
      yield;
    }
  }

  /**
   * Requires a complete build.
   * @param placed nodes that serve the zone.
   */
  statusOf(zone: Zone, placed: readonly string[], override: ChallengeOverride | null): ZoneStatus {
    const place = this.#placeOf(placed);
    const claims = this.#claims.get(zone.name) ?? [];
    const own = claims.filter(({ node }) => place.names.has(node));
    return zoneStatus(zone, place, own, override);
  }

  #add(name: string, claim: NodeClaim): void {
    const claims = this.#claims.get(name);
    if (claims === undefined) this.#claims.set(name, [claim]);
    else claims.push(claim);
  }

  #placeOf(placed: readonly string[]): Place {
    const known = this.#places.get(placed);
    if (known !== undefined) return known;
    const { alive, reports } = this.#fleet;
    const present = placed.filter((name) => alive.has(name));
    const cutReports = present.flatMap((name) => reports.get(name) ?? []).filter(({ cut }) => cut.zones > 0);
    const place = { names: new Set(placed), nodes: placed.length, alive: present.length, cutReports };
    this.#places.set(placed, place);
    return place;
  }
}

function namesIn({ zones, certs, h3 }: EdgeReport): Set<string> {
  return new Set([...zones.keys(), ...certs.keys(), ...h3.serving, ...h3.unsupported]);
}
