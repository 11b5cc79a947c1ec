/** The measure of a ban on the traffic of its prefix, and the routes for it. Pure. */
import { type Community, communitiesText } from "../net/community.ts";
import type { Prefix } from "../net/prefix.ts";
import type { FlowspecRoute, Route, UnicastRoute } from "./announcer.ts";
import { actionText, isSameAction, type RouterAction, type RuleAction } from "./rules/action.ts";
import { matchText } from "./rules/match.ts";
import { type Rule, routedRuleText, rulesText, ruleText } from "./rules/rule.ts";
import { filterText, type ScrubFilter } from "./scrub/scrub-filter.ts";
import { rulesBeside } from "./scrub/scrub-rules.ts";
import { isSameSeparability, type Separability } from "./separability.ts";

export type Measure =
  /** No measure yet: the attack is only watched. */
  | { readonly kind: "none" }
  /** null: there is no speaker. */
  | BlackholeMeasure
  | DivertMeasure
  | FlowspecMeasure
  | ScrubMeasure;

/** Nothing is announced: the data plane of this machine does it. */
export interface ScrubMeasure {
  readonly kind: "scrub";
  readonly rules: FlowspecMeasure;
  readonly filter: ScrubFilter;
}

interface BlackholeMeasure {
  readonly kind: "blackhole";
  /** null: there is no speaker. */
  readonly route: UnicastRoute | null;
  /** For the neighbors that do not take the prefix of `route`. Absent: none. */
  readonly enclosing?: UnicastRoute;
}

export interface DivertMeasure {
  readonly kind: "divert";
  /** null: no next hop of this address family is configured, or `notAnnounced` says why. */
  readonly route: UnicastRoute | null;
  /** The prefix that the scrubbing hook diverts. Absent: none is configured. */
  readonly diversion?: Prefix;
  /** Why the prefix that is to be announced is not. Absent: it is. */
  readonly notAnnounced?: string;
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

export interface NeighborRules extends NodeRules {
  /** Addresses. */
  readonly neighbors: readonly string[];
}

/** The terms that rules are announced with. */
export interface RuleTerms {
  readonly localPref: number;
  /** Absent: none. */
  readonly communities?: readonly Community[];
  /** The action of routers in place of the rules' own, which scrub nodes and this machine follow. Absent: that. */
  readonly routers?: RouterAction;
  /** Names or addresses of the neighbors that an operator ordered. Absent: all. */
  readonly neighbors?: readonly string[];
  /** The communities are those of an order. */
  readonly areCommunitiesOrdered?: true;
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

export interface FlowspecMeasure extends FoundRules, RuleTerms {
  readonly kind: "flowspec";
  /** A key of what the rules were made from: while it is equal, the rules stay. */
  readonly basis: string;
  /** Other rules for neighbors that cannot match all of `rules`, or have room for fewer. Absent: none. */
  readonly neighborRules?: readonly NeighborRules[];
}

export const NO_MEASURE: Measure = { kind: "none" };

export function routesOf(measure: Measure, prefix: Prefix): readonly Route[] {
  switch (measure.kind) {
    case "none":
    case "scrub":
      return [];
    case "blackhole":
      return blackholeRoutes(measure);
    case "divert":
      return measure.route === null ? NO_ROUTES : [measure.route];
    case "flowspec":
      return flowspecRoutes(measure, prefix);
    default:
      return measure satisfies never;
  }
}

const NO_ROUTES: readonly Route[] = [];

function blackholeRoutes({ route, enclosing }: BlackholeMeasure): readonly Route[] {
  if (route === null) return NO_ROUTES;
  return enclosing === undefined ? [route] : [route, enclosing];
}

/** The prefix that is diverted, by a route or by a hook; null: none is. */
export function divertedBy({ route, diversion }: DivertMeasure): Prefix | null {
  return route?.prefix ?? diversion ?? null;
}

/** The wider prefix that is announced for the ban, to some neighbors or to all; null: none is. */
export function enclosingIn(measure: Measure, prefix: Prefix): Prefix | null {
  if (measure.kind === "blackhole") return measure.enclosing?.prefix ?? null;
  const announced = measure.kind === "divert" ? divertedBy(measure) : null;
  return announced !== null && announced.length < prefix.length ? announced : null;
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

/** Why a ban with FlowSpec does nothing by it. */
export const NO_RULES_FOUND = "no rule separates the attack from the users of its victim";

/** Whether the search for rules is over and found none that separates the attack from users. */
export function foundNone(found: FoundRules): boolean {
  return found.rules.length === 0 && hasLooked(found);
}

/** Cached by measure: callers compare routes by identity. */
const FLOWSPEC_ROUTES = new WeakMap<FlowspecMeasure, readonly Route[]>();

function flowspecRoutes(measure: FlowspecMeasure, prefix: Prefix): readonly Route[] {
  const known = FLOWSPEC_ROUTES.get(measure);
  if (known !== undefined) return known;
  const { localPref, communities = [], routers, neighbors, areCommunitiesOrdered } = measure;
  const terms = {
    ...{ communities, localPref },
    ...(routers && { routers }),
    ...(neighbors && { neighbors }),
    ...(areCommunitiesOrdered && { areCommunitiesOrdered }),
  };
  const routes = rulesWithReaders(measure).map(
    (own): FlowspecRoute => ({ kind: "flowspec", prefix, ...own, ...terms }),
  );
  FLOWSPEC_ROUTES.set(measure, routes);
  return routes;
}

type ReadRule = Pick<FlowspecRoute, "rule" | "only" | "except">;

/** Each rule once, with the neighbors that it is for where some have rules of their own. */
function rulesWithReaders({ rules, neighborRules = [] }: FlowspecMeasure): readonly ReadRule[] {
  if (neighborRules.length === 0) return rules.map((rule) => ({ rule }));
  const own = new Map<string, { readonly rule: Rule; readonly neighbors: string[] }>();
  for (const { rules: theirs, neighbors } of neighborRules) {
    for (const rule of theirs) {
      const known = own.get(ruleText(rule));
      if (known === undefined) own.set(ruleText(rule), { rule, neighbors: [...neighbors] });
      else known.neighbors.push(...neighbors);
    }
  }
  const limited = neighborRules.flatMap(({ neighbors }) => neighbors);
  const common = rules.map((rule): ReadRule => {
    const readers = own.get(ruleText(rule))?.neighbors ?? [];
    own.delete(ruleText(rule));
    const except = limited.filter((neighbor) => !readers.includes(neighbor));
    return except.length === 0 ? { rule } : { rule, except };
  });
  return [...common, ...[...own.values()].map(({ rule, neighbors }) => ({ rule, only: neighbors }))];
}

/** Whether the neighbor is to have this rule; null: a neighbor without rules of its own. Any route but a rule is for all. */
export function isForReader(route: Route, neighbor: string | null): boolean {
  if (route.kind === "unicast") return true;
  const { only, except } = route;
  if (neighbor === null) return only === undefined;
  return (only?.includes(neighbor) ?? true) && except?.includes(neighbor) !== true;
}

/** The measure with its rules moved from one prefix to another. */
export function measureAt(measure: Measure, from: Prefix, to: Prefix): Measure {
  if (measure.kind === "divert") {
    const nodeRules = measure.nodeRules?.map((each) => rulesAt(each, from, to));
    return { ...measure, rules: rulesAt(measure.rules, from, to), ...(nodeRules && { nodeRules }) };
  }
  if (measure.kind === "scrub") return { ...measure, rules: rulesAt(measure.rules, from, to) };
  if (measure.kind !== "flowspec") return measure;
  const neighborRules = measure.neighborRules?.map((each) => rulesAt(each, from, to));
  return { ...rulesAt(measure, from, to), ...(neighborRules && { neighborRules }) };
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
 * The rules with another action and other terms; the same object if nothing changes. Rules that limit in place of
 * `discard`, for the sake of users, go on limiting, unless an operator ordered the action.
 */
export function withTerms(
  measure: FlowspecMeasure,
  action: RuleAction,
  terms: RuleTerms,
  isOrdered: boolean,
): FlowspecMeasure {
  const isLimit =
    !isOrdered && action.kind === "discard" && measure.rules.some((rule) => rule.action.kind === "rate_limit");
  const isSame = isLimit || measure.rules.every((rule) => isSameAction(rule.action, action));
  if (isSame && isSameTerms(measure, terms)) return measure;
  const { communities: _, routers: __, neighbors: ___, areCommunitiesOrdered: ____, ...others } = measure;
  const rules = isSame ? measure.rules : measure.rules.map((rule) => ({ ...rule, action }));
  return { ...others, ...terms, rules };
}

function isSameTerms(a: RuleTerms, b: RuleTerms): boolean {
  const textOf = ({ communities = [], routers, neighbors, areCommunitiesOrdered }: RuleTerms) =>
    `${communitiesText(communities)} ${areCommunitiesOrdered} ${routers && actionText(routers)} ${neighbors?.join()}`;
  return a.localPref === b.localPref && textOf(a) === textOf(b);
}

/** Ignores what some nodes and neighbors have instead, and for whom a route is: a change of that is not reported. */
export function isSameForEach(a: Measure, b: Measure): boolean {
  if (a.kind === "divert" && b.kind === "divert") {
    return a.nodeRules === b.nodeRules && isSameRoute(a.route, b.route) && a.notAnnounced === b.notAnnounced;
  }
  if (a.kind === "blackhole" && b.kind === "blackhole") {
    return isSameRoute(a.route, b.route) && isSameRoute(a.enclosing ?? null, b.enclosing ?? null);
  }
  return (
    (a.kind === "flowspec" ? a.neighborRules : undefined) === (b.kind === "flowspec" ? b.neighborRules : undefined)
  );
}

function isSameRoute(a: UnicastRoute | null, b: UnicastRoute | null): boolean {
  return a === b || Bun.deepEquals(a, b);
}

/** A speaker keeps only the newer of two routes with equal keys. */
export function routeKey(route: Route): string {
  return route.kind === "unicast" ? route.prefix.text : `flow ${matchText(route.rule)}`;
}

export function isSameMeasure(a: Measure, b: Measure): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || measureText(a) !== measureText(b)) return false;
  if (a.kind === "divert" && b.kind === "divert") {
    return a.node === b.node && Bun.deepEquals(a.filter, b.filter) && isSameMeasure(a.rules, b.rules);
  }
  if (a.kind === "scrub" && b.kind === "scrub") {
    return Bun.deepEquals(a.filter, b.filter) && isSameMeasure(a.rules, b.rules);
  }
  if (a.kind !== "flowspec" || b.kind !== "flowspec") return true;
  return a.basis === b.basis && isSameRules(a, b) && isSameTerms(a, b);
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
      return [measure.route, measure.enclosing ?? null].map(routeText).filter(Boolean).join("; ");
    case "divert":
      return [routeText(measure.route), hookText(measure.diversion)].filter(Boolean).join("; ");
    case "flowspec":
      return rulesText(measure.rules, measure.routers);
    case "scrub":
      return scrubText(measure);
    default:
      return measure satisfies never;
  }
}

/** "": it diverts nothing. */
export function hookText(diversion: Prefix | undefined): string {
  return diversion === undefined ? "" : `${diversion.text} by the scrubbing hook`;
}

/** `validate tcp transparent; dst 192.0.2.1/32 proto udp discard`. */
function scrubText(measure: ScrubMeasure): string {
  return filterText(measure.filter, rulesText(scrubbedRules(measure)));
}

/** The text of the route by itself, for operators. */
export function anyRouteText(route: Route): string {
  if (route.kind === "unicast") return routeText(route);
  return routedRuleText(route.rule, route.routers ?? route.rule.action);
}

/** `192.0.2.1/32 next-hop 192.0.2.254 community 65535:666 local-pref 200`. */
export function routeText(route: UnicastRoute | null): string {
  if (route === null) return "";
  const parts = [route.prefix.text, "next-hop", route.nextHop];
  if (route.communities.length > 0) parts.push("community", communitiesText(route.communities));
  if (route.localPref > 0) parts.push("local-pref", String(route.localPref));
  return parts.join(" ");
}
