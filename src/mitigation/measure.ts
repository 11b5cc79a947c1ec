/** The measure of a ban on the traffic of its prefix, and the routes for it. Pure. */
import { type Community, communitiesText } from "../net/community.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Route, UnicastRoute } from "./announcer.ts";
import { isSameAction, type RuleAction } from "./rules/action.ts";
import { matchText } from "./rules/match.ts";
import { type Rule, rulesText, ruleText } from "./rules/rule.ts";
import { filterText, type ScrubFilter } from "./scrub/scrub-filter.ts";
import { rulesBeside } from "./scrub/scrub-rules.ts";
import { isSameSeparability, type Separability } from "./separability.ts";

export type Measure =
  /** No measure yet: the attack is only watched. */
  | { readonly kind: "none" }
  /** null: there is no speaker. */
  | { readonly kind: "blackhole"; readonly route: UnicastRoute | null }
  | DivertMeasure
  | FlowspecMeasure
  | ScrubMeasure;

/** Nothing is announced: the data plane of this machine does it. */
export interface ScrubMeasure {
  readonly kind: "scrub";
  readonly rules: FlowspecMeasure;
  readonly filter: ScrubFilter;
}

export interface DivertMeasure {
  readonly kind: "divert";
  /** null: no next hop of this address family is configured. */
  readonly route: UnicastRoute | null;
  /** The scrub node, kept while it is alive; null: a configured next hop is used, or there is none. */
  readonly node: string | null;
  /** The rules for scrub nodes. They are not announced to routers. */
  readonly rules: FlowspecMeasure;
  /** Other rules for the scrub nodes that do not support all of `rules`. Absent: none were made. */
  readonly nodeRules?: readonly NodeRules[];
  /** The filter of scrub nodes beside their rules. Absent: none. */
  readonly filter?: ScrubFilter;
}

export interface NodeRules {
  /** The match fields that the nodes support, as a key. */
  readonly support: string;
  readonly rules: readonly Rule[];
  /** Number of the measure's rules that these do not replace. */
  readonly leftOut: number;
}

/** Rules that were looked for. */
export interface FoundRules {
  /** Empty: none separates the attack from users. */
  readonly rules: readonly Rule[];
  /** No rule narrower than all traffic of the prefix was found. */
  readonly matchesAll: boolean;
  /** Absent: rules have not been looked for yet, or by a build that did not say. */
  readonly separability?: Separability;
}

export interface FlowspecMeasure extends FoundRules {
  readonly kind: "flowspec";
  readonly localPref: number;
  /** A key of what the rules were made from: while it is equal, the rules stay. */
  readonly basis: string;
  /** As an operator ordered. Absent: none. */
  readonly communities?: readonly Community[];
  /** Absent: all. */
  readonly neighbors?: readonly string[];
}

export const NO_MEASURE: Measure = { kind: "none" };

export function routesOf(measure: Measure, prefix: Prefix): readonly Route[] {
  switch (measure.kind) {
    case "none":
    case "scrub":
      return [];
    case "blackhole":
    case "divert":
      return measure.route === null ? [] : [measure.route];
    case "flowspec":
      return flowspecRoutes(measure, prefix);
    default:
      return measure satisfies never;
  }
}

/**
 * The rules for traffic that is scrubbed. None if they match all traffic: the victim would get nothing any more.
 */
export function narrowRules({ rules, matchesAll }: FlowspecMeasure): readonly Rule[] {
  return matchesAll ? NO_RULES : rules;
}

const NO_RULES: readonly Rule[] = [];

/** The rules that match the attack, beside the filter. */
export function scrubbedRules({ filter, rules }: ScrubMeasure): readonly Rule[] {
  return rulesBeside(filter, narrowRules(rules));
}

/** Whether the rules separate the attack from users; null: the measure has none, or they have not been looked for. */
export function separabilityOf(measure: Measure): Separability | null {
  if (measure.kind === "divert" || measure.kind === "scrub") return separabilityOf(measure.rules);
  return (measure.kind === "flowspec" && measure.separability) || null;
}

/** Whether rules have been looked for: otherwise they wait for the first classification. */
export function hasLooked({ rules, separability }: FoundRules): boolean {
  return rules.length > 0 || separability !== undefined;
}

/** Whether the search for rules is over and found none that separates the attack from users. */
export function foundNone(found: FoundRules): boolean {
  return found.rules.length === 0 && hasLooked(found);
}

/** Cached by measure: callers compare routes by identity. */
const FLOWSPEC_ROUTES = new WeakMap<FlowspecMeasure, readonly Route[]>();

function flowspecRoutes(measure: FlowspecMeasure, prefix: Prefix): readonly Route[] {
  const known = FLOWSPEC_ROUTES.get(measure);
  if (known !== undefined) return known;
  const { localPref, communities = [], neighbors } = measure;
  const isOrdered = measure.communities === undefined ? {} : { areCommunitiesOrdered: true as const };
  const attributes = { communities, localPref, ...isOrdered, ...(neighbors && { neighbors }) };
  const routes = measure.rules.map((rule) => ({ kind: "flowspec", prefix, rule, ...attributes }) as const);
  FLOWSPEC_ROUTES.set(measure, routes);
  return routes;
}

/** The measure with its rules moved from one prefix to another. */
export function measureAt(measure: Measure, from: Prefix, to: Prefix): Measure {
  if (measure.kind === "divert") {
    const nodeRules = measure.nodeRules?.map((each) => rulesAt(each, from, to));
    return { ...measure, rules: rulesAt(measure.rules, from, to), ...(nodeRules && { nodeRules }) };
  }
  if (measure.kind === "scrub") return { ...measure, rules: rulesAt(measure.rules, from, to) };
  return measure.kind === "flowspec" ? rulesAt(measure, from, to) : measure;
}

function rulesAt<Ruled extends { readonly rules: readonly Rule[] }>(measure: Ruled, from: Prefix, to: Prefix): Ruled {
  const moved = (end: Prefix | null) => (end?.text === from.text ? to : end);
  const rules = measure.rules.map((rule) => ({
    ...rule,
    destination: moved(rule.destination),
    source: moved(rule.source),
  }));
  return { ...measure, rules };
}

/**
 * The rules with another action; the same object if nothing changes. Rules that limit in place of `discard`, for the sake
 * of users, go on limiting.
 */
export function withAction(measure: FlowspecMeasure, action: RuleAction, localPref: number): FlowspecMeasure {
  const isLimit = action.kind === "discard" && measure.rules.some((rule) => rule.action.kind === "rate_limit");
  const isSame = isLimit || measure.rules.every((rule) => isSameAction(rule.action, action));
  if (isLimit && measure.localPref !== localPref) return { ...measure, localPref };
  const isUnchanged = measure.localPref === localPref && isSame;
  return isUnchanged ? measure : { ...measure, localPref, rules: measure.rules.map((rule) => ({ ...rule, action })) };
}

/** Other rules for some scrub nodes are not shown to operators or announced: for them the measure stays the same. */
export function isSameNodeRules(a: Measure, b: Measure): boolean {
  return (a.kind === "divert" ? a.nodeRules : undefined) === (b.kind === "divert" ? b.nodeRules : undefined);
}

/** A speaker keeps only the newer of two routes with equal keys. */
export function routeKey(route: Route): string {
  return route.kind === "unicast" ? route.prefix.text : `flow ${matchText(route.rule)}`;
}

export function isSameMeasure(a: Measure, b: Measure): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || measureText(a) !== measureText(b)) return false;
  if (a.kind === "divert" && b.kind === "divert") {
    const isSameFilter = a.node === b.node && Bun.deepEquals(a.filter, b.filter);
    return isSameFilter && isSameReach(a.route, b.route) && isSameMeasure(a.rules, b.rules);
  }
  if (a.kind === "scrub" && b.kind === "scrub") {
    return Bun.deepEquals(a.filter, b.filter) && isSameMeasure(a.rules, b.rules);
  }
  if (a.kind === "blackhole" && b.kind === "blackhole") return isSameReach(a.route, b.route);
  if (a.kind !== "flowspec" || b.kind !== "flowspec") return true;
  return a.basis === b.basis && isSameRules(a, b) && a.localPref === b.localPref && isSameReach(a, b);
}

type Reach = Pick<FlowspecMeasure, "communities" | "neighbors">;

/** Communities and neighbors, which the text of rules does not have. */
export function isSameReach(a: Reach | null, b: Reach | null): boolean {
  return (
    Bun.deepEquals(a?.neighbors, b?.neighbors) &&
    communitiesText(a?.communities ?? []) === communitiesText(b?.communities ?? [])
  );
}

export function isSameRules(a: FoundRules, b: FoundRules): boolean {
  const isSameKind = a.matchesAll === b.matchesAll && isSameSeparability(a.separability, b.separability);
  return isSameKind && rulesText(a.rules) === rulesText(b.rules);
}

/** The routes, or what is done on this machine, as text for operators; "": nothing. */
export function measureText(measure: Measure): string {
  switch (measure.kind) {
    case "none":
      return "";
    case "blackhole":
    case "divert":
      return routeText(measure.route);
    case "flowspec":
      return rulesText(measure.rules);
    case "scrub":
      return scrubText(measure);
    default:
      return measure satisfies never;
  }
}

/** `validate tcp transparent; dst 192.0.2.1/32 proto udp discard`. */
function scrubText(measure: ScrubMeasure): string {
  return filterText(measure.filter, rulesText(scrubbedRules(measure)));
}

/** The text of the route by itself, for operators. */
export function anyRouteText(route: Route): string {
  return route.kind === "unicast" ? routeText(route) : ruleText(route.rule);
}

/** `192.0.2.1/32 next-hop 192.0.2.254 community 65535:666 local-pref 200`. */
export function routeText(route: UnicastRoute | null): string {
  if (route === null) return "";
  const parts = [route.prefix.text, "next-hop", route.nextHop];
  if (route.communities.length > 0) parts.push("community", communitiesText(route.communities));
  if (route.localPref > 0) parts.push("local-pref", String(route.localPref));
  return parts.join(" ");
}
