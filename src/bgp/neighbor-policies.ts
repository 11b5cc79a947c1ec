/** Which routes each neighbor is to get, by the configuration and by orders. Pure. */
import type { MissingNeighbor, Route } from "../mitigation/announcer.ts";
import type { BgpConfig, BgpNeighbor } from "./bgp-config.ts";
import { type Marks, markOf, NO_MARKS } from "./neighbor-mark.ts";

type Configured = Pick<BgpConfig, "speaker" | "neighbors">;

export class NeighborPolicies {
  readonly #isManaged: boolean;
  readonly #neighbors: ReadonlyMap<string, BgpNeighbor>;

  constructor({ speaker, neighbors }: Configured) {
    this.#isManaged = speaker === "managed";
    // An external speaker has neighbors of its own.
    this.#neighbors = new Map(this.#isManaged ? neighbors.map((neighbor) => [neighbor.address, neighbor]) : []);
  }

  /** The addresses of the neighbors for which routes can be marked. */
  get addresses(): readonly string[] {
    return [...this.#neighbors.keys()];
  }

  /** Why the route must not be sent to any neighbor; null: it may be sent to some. */
  problemOf(route: Route): string | null {
    if (!this.#isManaged)
      return route.neighbors === undefined ? null : "neighbors can be chosen with speaker managed only";
    const refusals = this.addresses.map((address) => this.refusalAt(address, route));
    return refusals.length > 0 && refusals.every((refusal) => refusal !== null) ? (refusals[0] ?? null) : null;
  }

  /** Why the neighbor is not to get the route; null: it is. */
  refusalAt(address: string, route: Route): string | null {
    const neighbor = this.#neighbors.get(address);
    if (neighbor === undefined) return null;
    const { neighbors } = route;
    if (neighbors !== undefined && !neighbors.some((named) => named === address || named === neighbor.name))
      return "the order is for other neighbors";
    return neighbor.dryRun === true ? "it is in dry run" : null;
  }

  /** The neighbors that are not to get the route. */
  keptFrom(route: Route): readonly MissingNeighbor[] {
    return this.addresses.flatMap((neighbor) => {
      const cause = this.refusalAt(neighbor, route);
      return cause === null ? [] : { neighbor, cause };
    });
  }

  /** The marks by which the speaker's policy keeps the route from neighbors. */
  marksOf(route: Route): Marks {
    const marks = this.keptFrom(route).map(({ neighbor }) => markOf(neighbor, "policy"));
    return marks.length === 0 ? NO_MARKS : marks.sort();
  }
}

export const ALL_NEIGHBORS = new NeighborPolicies({ speaker: "managed", neighbors: [] });
