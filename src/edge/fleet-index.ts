/**
 * The last reports of the alive nodes by the zones that they tell of, made for one reading of the fleet: zones times nodes
 * may be a million, of which most have nothing to say of each other.
 */
import { type Fleet, type Placed, type Saying, type ZoneStatus, zoneStatus } from "./fleet-status.ts";
import type { EdgeReport } from "./report.ts";
import type { Zone } from "./zone.ts";
import type { ChallengeOverride } from "./zone-documents.ts";

interface Place extends Placed {
  readonly names: ReadonlySet<string>;
}

export class FleetIndex {
  readonly #fleet: Fleet;
  readonly #isZone: (name: string) => boolean;
  /** By zone. */
  readonly #sayings = new Map<string, Saying[]>();
  /** Many zones are placed on the same nodes, by the same list. */
  readonly #places = new Map<readonly string[], Place>();

  /** @param isZone names that nobody asks for are left out. */
  constructor(fleet: Fleet, isZone: (name: string) => boolean) {
    this.#fleet = fleet;
    this.#isZone = isZone;
  }

  /** Takes up the reports one by one, in as many steps. */
  *build(): Generator<undefined> {
    for (const [node, report] of this.#fleet.reports) {
      const saying = { node, report };
      for (const name of namesIn(report)) if (this.#isZone(name)) this.#add(name, saying);
      yield;
    }
  }

  /**
   * Of an index that was built.
   *
   * @param placed nodes that serve the zone.
   */
  statusOf(zone: Zone, placed: readonly string[], override: ChallengeOverride | null): ZoneStatus {
    const place = this.#placeOf(placed);
    const sayings = this.#sayings.get(zone.name) ?? [];
    const own = sayings.filter(({ node }) => place.names.has(node));
    return zoneStatus(zone, place, own, override);
  }

  #add(name: string, saying: Saying): void {
    const sayings = this.#sayings.get(name);
    if (sayings === undefined) this.#sayings.set(name, [saying]);
    else sayings.push(saying);
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
