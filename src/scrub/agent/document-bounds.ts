/**
 * Holds a document against the local bounds of this node: what a service in wrong hands cannot have dropped here, or for
 * longer. Pure.
 */
import type { DocumentBounds } from "../../config/sections/document-bounds.ts";
import { type Prefix, prefixContains } from "../../net/prefix.ts";
import { PrefixTable } from "../../net/prefix-table.ts";
import type { HeldBan } from "./enforcement.ts";
import { BoundsProblem } from "./rule-document.ts";

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
   * Throws BoundsProblem for the first rule beyond a bound. A ban without rules drops nothing and is within any bounds.
   *
   * @param nowMs on this node's monotonic clock, as the bans' expiries
   */
  check(bans: readonly HeldBan[], nowMs: number): void {
    const longestMs = this.#bounds.maxSeconds * 1000 + EXPIRY_TOLERANCE_MS;
    for (const { prefix, rules, filter, expiresAtMs } of bans) {
      if (rules.length === 0 && filter === null) continue;
      if (expiresAtMs - nowMs > longestMs) {
        throw new BoundsProblem(`${prefix.text}: lasts longer than bounds.max_seconds`);
      }
      for (const { destination } of rules) {
        // readRule() sets it to the ban's prefix if the rule has none.
        if (destination === null) throw new BoundsProblem("a rule for all destinations");
        this.#checkDestination(destination);
      }
      if (filter !== null) this.#checkDestination(prefix);
    }
  }

  #checkDestination(destination: Prefix): void {
    const { shortestPrefix, networks } = this.#bounds;
    if (destination.length < shortestPrefix[destination.family]) {
      const key = destination.family === 4 ? "shortest_prefix" : "shortest_prefix6";
      throw new BoundsProblem(`${destination.text}: is shorter than bounds.${key}`);
    }
    if (networks === null) return;
    const network = this.#networks[this.#table.find(destination.address)];
    if (network === undefined || network.length > destination.length) {
      throw new BoundsProblem(`${destination.text}: is not inside of bounds.networks`);
    }
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
