/** Rules of the operator that can never match, since an earlier one decides about all that they match. Pure. */
import { type Prefix, prefixCovers } from "../../net/prefix.ts";
import type { Range } from "../../net/range.ts";
import { ANY_MATCH, type Match, matchText } from "../rules/match.ts";
import type { OperatorRule } from "./operator-rule.ts";

/** The first rule that hides a later one, by the index of the hidden one. */
export function hiddenRules(rules: readonly OperatorRule[], networks: readonly Prefix[]): Map<number, OperatorRule> {
  const hidden = new Map<number, OperatorRule>();
  for (const [i, rule] of rules.entries()) {
    const by = rules.slice(0, i).find((earlier) => hides(earlier, rule, networks));
    if (by !== undefined) hidden.set(i, by);
  }
  return hidden;
}

function hides(earlier: OperatorRule, later: OperatorRule, networks: readonly Prefix[]): boolean {
  if (earlier.isDryRun || earlier.action === "limit") return false;
  if (earlier.when === "attacked" && later.when === "always") return false;
  const wide = earlier.destinations.length === 0 ? networks : earlier.destinations;
  const narrow = later.destinations.length === 0 ? networks : later.destinations;
  return (
    narrow.every((prefix) => wide.some((outer) => prefixCovers(outer, prefix))) &&
    matchesAllOf(earlier.match, later.match) &&
    asksNoMore(earlier, later)
  );
}

/** Whether every packet that `narrow` matches is matched by `wide`, too; their destinations left aside. */
function matchesAllOf(wide: Match, narrow: Match): boolean {
  const isSame = <T>(one: T | null, other: T | null) => one === null || one === other;
  return (
    (wide.source === null || (narrow.source !== null && prefixCovers(wide.source, narrow.source))) &&
    isSame(wide.fragment, narrow.fragment) &&
    holdsRanges(wide.protocols, narrow.protocols) &&
    holdsRanges(wide.sourcePorts, narrow.sourcePorts) &&
    holdsRanges(wide.destinationPorts, narrow.destinationPorts) &&
    holdsFlags(wide.tcpFlags, narrow.tcpFlags)
  );
}

/** By single ranges: two that together hold a third are not seen. */
function holdsRanges(wide: readonly Range[], narrow: readonly Range[]): boolean {
  if (wide.length === 0) return true;
  return (
    narrow.length > 0 && narrow.every(({ from, to }) => wide.some((outer) => outer.from <= from && to <= outer.to))
  );
}

function holdsFlags(wide: Match["tcpFlags"], narrow: Match["tcpFlags"]): boolean {
  if (wide === null) return true;
  return narrow !== null && (wide.set & ~narrow.set) === 0 && (wide.unset & ~narrow.unset) === 0;
}

/** By the fields that are not compared by their values: they must be the same. */
function asksNoMore({ match: wide }: OperatorRule, { match: narrow }: OperatorRule): boolean {
  const [ofWide, ofNarrow] = [restText(wide), restText(narrow)];
  return ofWide === "any" || ofWide === ofNarrow;
}

function restText(match: Match): string {
  const { destination, source, protocols, sourcePorts, destinationPorts, tcpFlags, fragment } = ANY_MATCH;
  return matchText({ ...match, destination, source, protocols, sourcePorts, destinationPorts, tcpFlags, fragment });
}
