/**
 * Converts our routes to GoBGP's paths and back. The path identifier holds the service's instance, so that the speaker
 * itself records whose each path is: a service killed at any moment finds its routes. The speaker keeps the identifier
 * in all families, even if it is not sent on the wire.
 */
import type { Route } from "../mitigation/announcer.ts";
import type { RuleAction } from "../mitigation/rules/action.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import { addressFamily, parseAddress } from "../net/address.ts";
import { communitiesText, sortedCommunities } from "../net/community.ts";
import { canonicalPrefix, type Prefix } from "../net/prefix.ts";
import { actionProblem, routerCommunities } from "./flowspec-action.ts";
import { type Component, componentsOf, prefixProblem, ruleProblem, withoutSpeakerBits } from "./flowspec-nlri.ts";
import { type Marks, NO_MARKS } from "./neighbor-mark.ts";
import { familyOfRoute, type RouteFamily } from "./route-family.ts";
import type { ListedName, ListedPath, Nlri, PathAttributes, PathChange, PathName } from "./speaker/speaker-client.ts";

/**
 * "F", before the 24 bits of an instance. Stays within the speaker: it is the receive-side path identifier of RFC 7911,
 * which GoBGP keeps apart from the one it sends. A route of the same prefix from another program or another service has
 * another identifier and stays.
 */
const FLOODWALL = 0x46;
const INSTANCE_BITS = 24;

const UINT32_MAX = 0xffff_ffff;
/** GoBGP requires a next hop; FlowSpec is sent without. */
const NO_NEXT_HOP = "0.0.0.0";

/**
 * Identifies one path of ours in the speaker: the prefix of a unicast route, or family and components of a FlowSpec
 * route. It is all that a withdrawal needs.
 */
export type RouteKey = string;

/** A path of this or another Floodwall service in the speaker. `attributes` compares with attributesOf(). */
export interface OwnPath {
  readonly instance: number;
  readonly key: RouteKey;
  readonly attributes: string;
  readonly marks: Marks;
}

export function keyOf(route: Route): RouteKey {
  if (route.kind === "unicast") return route.prefix.text;
  return flowspecKey(familyOfRoute(route), componentsOf(route.rule));
}

function flowspecKey(family: RouteFamily, components: readonly Component[]): RouteKey {
  return `${family} ${JSON.stringify(components)}`;
}

export function familyOfKey(key: RouteKey): RouteFamily {
  if (key.startsWith("ipv4-flowspec ")) return "ipv4-flowspec";
  if (key.startsWith("ipv6-flowspec ")) return "ipv6-flowspec";
  return key.includes(":") ? "ipv6-unicast" : "ipv4-unicast";
}

/**
 * Why this route must not be sent, or null. GoBGP 3.10 does not check it: it turns an unreadable address into 0.0.0.0,
 * and a length that is too long makes peers reset the session.
 */
export function routeProblem(route: Route): string | null {
  const { prefix, localPref } = route;
  const problem =
    route.kind === "unicast"
      ? (prefixProblem(prefix) ?? nextHopProblem(route.nextHop, prefix))
      : (ruleProblem(route.rule) ?? limitProblem(route.rule, prefix) ?? actionProblem(route.routers, prefix));
  if (problem !== null) return problem;
  if (!Number.isInteger(localPref) || localPref < 0 || localPref > UINT32_MAX) return `invalid local_pref ${localPref}`;
  return null;
}

/** The prefixes of the rule have no prefixProblem(), nor then has one that it is limited to. */
function limitProblem({ destination, source }: Rule, { text }: Prefix): string | null {
  return destination?.text === text || source?.text === text ? null : `the rule is not for ${text}`;
}

function nextHopProblem(nextHop: string, prefix: Route["prefix"]): string | null {
  const hop = parseAddress(nextHop);
  if (hop === null || hop === "0.0.0.0" || hop === "::") return `invalid next hop ${nextHop}`;
  return addressFamily(hop) === prefix.family ? null : `next hop ${nextHop} is not of the family of ${prefix.text}`;
}

export type AnnouncedPath = PathName & { readonly attributes: PathAttributes };

/** A route as it is sent. */
export interface SendableRoute {
  readonly route: Route;
  /** The result of attributesOf(). */
  readonly attributes: string;
  readonly marks: Marks;
}

export function sendable(route: Route, marks = NO_MARKS): SendableRoute {
  return { route, attributes: attributesOf(route), marks };
}

/**
 * The path of each route, which has no routeProblem(), with its marks, lazily; equal parts share one object, which is encoded
 * once.
 */
export function* toPaths(routes: Iterable<SendableRoute>, instance: number): Iterable<AnnouncedPath> {
  const known = new Map<string, PathAttributes>();
  for (const { route, attributes: text, marks } of routes) {
    const shared = `${text} ${marks.join()}`;
    let attributes = known.get(shared);
    if (attributes === undefined) {
      attributes = pathAttributes(route, marks);
      known.set(shared, attributes);
    }
    yield { family: familyOfRoute(route), nlri: nlriOf(route), identifier: identifierOf(instance), attributes };
  }
}

function pathName(family: RouteFamily, nlri: Nlri, instance: number): PathName {
  return { family, nlri, identifier: identifierOf(instance) };
}

function identifierOf(instance: number): number {
  return FLOODWALL * 2 ** INSTANCE_BITS + instance;
}

function nlriOf(route: Route): Nlri {
  if (route.kind === "unicast") return prefixNlri(route.prefix);
  return { kind: "flowspec", components: componentsOf(route.rule) };
}

function pathAttributes(route: Route, marks = NO_MARKS): PathAttributes {
  const { localPref } = route;
  if (route.kind === "unicast") {
    const communities = sortedCommunities(route.communities);
    return { nextHop: route.nextHop, communities, marks, localPref, rates: [] };
  }
  const { routers, rule } = route;
  const communities = sortedCommunities([...route.communities, ...(routers ? routerCommunities(routers) : [])]);
  const rates = routers === undefined ? [rateOf(rule.action)] : [];
  return { nextHop: NO_NEXT_HOP, communities, marks, localPref, rates };
}

/** Withdraws the path of this instance, and no other one with the key. */
export function toWithdrawal(key: RouteKey, instance: number): PathChange {
  const family = familyOfKey(key);
  const nlri: Nlri = family.endsWith("flowspec")
    ? { kind: "flowspec", components: JSON.parse(key.slice(family.length)) as Component[] }
    : prefixNlri(canonicalPrefix(key));
  return { ...pathName(family, nlri, instance), attributes: null };
}

function prefixNlri({ address, length }: Prefix): Nlri {
  return { kind: "prefix", address, length };
}

/** null: the path is not of a Floodwall service. */
export function instanceOf({ neighborIp, identifier }: ListedName): number | null {
  // For a path from no peer, GoBGP 3 writes "<nil>", GoBGP 4 an empty string.
  const isLocal = neighborIp === "<nil>" || neighborIp === "";
  const isFloodwall = Math.floor(identifier / 2 ** INSTANCE_BITS) === FLOODWALL;
  return isLocal && isFloodwall ? identifier % 2 ** INSTANCE_BITS : null;
}

/** null: an unreadable address. */
export function keyOfPath({ family, nlri }: ListedName): RouteKey | null {
  if (nlri.kind === "flowspec") return flowspecKey(family, withoutSpeakerBits(nlri.components));
  const address = parseAddress(nlri.address);
  return address === null ? null : `${address}/${nlri.length}`;
}

/** The attributes as text; they distinguish two routes with equal keys. */
export function attributesOf(route: Route): string {
  return attributesText(pathAttributes(route), route.kind === "unicast");
}

export function toOwnPath(path: ListedPath): OwnPath | null {
  const instance = instanceOf(path);
  const key = instance === null ? null : keyOfPath(path);
  if (instance === null || key === null) return null;
  const attributes = attributesText(path.attributes, path.nlri.kind === "prefix");
  return { instance, key, attributes, marks: path.attributes.marks };
}

/** Bytes per second; 0 discards. */
function rateOf(action: RuleAction): number {
  return action.kind === "discard" ? 0 : action.bytesPerSecond;
}

/** Without marks. */
function attributesText({ nextHop, rates, communities, localPref }: PathAttributes, hasNextHop: boolean): string {
  const what = [...(hasNextHop ? [nextHop] : []), ...rates.map(rateText)].join();
  return `${what} ${communitiesText(communities)} ${localPref}`;
}

/** Rounded to the precision on the wire. null: another extended community. */
function rateText(rate: number | null): string {
  return rate === null ? "other" : `rate ${Math.fround(rate)}`;
}
