/**
 * Holds the bans of a document against the local bounds of this node: what a service in wrong hands cannot have dropped
 * here, or for longer. Pure.
 */
import { type Prefix, prefixContains } from "../../net/prefix.ts";
import { PrefixTable } from "../../net/prefix-table.ts";
import type { DocumentBounds } from "./agent-config.ts";
import type { HeldBan } from "./enforcement.ts";

/** The service rounds expiries up to 10 s, and clocks are compared to 2 s. */
const EXPIRY_TOLERANCE_MS = 15_000;

export class BoundsCheck {
  readonly #bounds: DocumentBounds;
  readonly #networks: readonly Prefix[];
  readonly #table: PrefixTable;

  constructor(bounds: DocumentBounds) {
    this.#bounds = bounds;
    this.#networks = outermost(bounds.networks ?? []);
    this.#table = PrefixTable.of(this.#networks);
  }

  /**
   * Why a ban is beyond a bound; null: it is not. One without rules drops nothing and is within any bounds.
   *
   * @param nowMs on this node's monotonic clock, as the ban's expiry
   */
  excessOf({ prefix, rules, filter, expiresAtMs }: HeldBan, nowMs: number): string | null {
    if (rules.length === 0 && filter === null) return null;
    if (expiresAtMs - nowMs > this.#bounds.maxSeconds * 1000 + EXPIRY_TOLERANCE_MS) {
      return "lasts longer than bounds.max_seconds";
    }
    // readRule() sets a destination to the ban's prefix if the rule has none.
    const destinations = rules.map(({ destination }) => destination);
    for (const destination of filter === null ? destinations : [prefix, ...destinations]) {
      const excess = destination === null ? "a rule for all destinations" : this.#excessOfDestination(destination);
      if (excess !== null)
        return destination?.text === prefix.text ? excess : `${destination?.text ?? "any"}: ${excess}`;
    }
    return null;
  }

  #excessOfDestination(destination: Prefix): string | null {
    const { shortestPrefix, networks } = this.#bounds;
    if (destination.length < shortestPrefix[destination.family]) {
      return `is shorter than bounds.${destination.family === 4 ? "shortest_prefix" : "shortest_prefix6"}`;
    }
    if (networks === null) return null;
    const network = this.#networks[this.#table.find(destination.address)];
    return network === undefined || network.length > destination.length ? "is not inside of bounds.networks" : null;
  }
}

/** Without those inside of others, so that the longest match is the only one. */
function outermost(networks: readonly Prefix[]): readonly Prefix[] {
  const kept: Prefix[] = [];
  for (const network of networks.toSorted((a, b) => a.length - b.length)) {
    if (!kept.some((outer) => prefixContains(outer, network.address))) kept.push(network);
  }
  return kept;
}
