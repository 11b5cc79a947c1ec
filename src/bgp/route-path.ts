/**
 * Our routes as GoBGP's paths and back. Every path of ours carries one path identifier, so that the speaker itself
 * remembers what is ours: nothing has to be recorded beside it, and a service killed at any moment finds its routes.
 * The speaker keeps it in all families, also where nothing of the kind goes over the wire.
 */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { Route } from "../mitigation/announcer.ts";
import type { Rule, RuleAction } from "../mitigation/rule.ts";
import { addressFamily, parseAddress } from "../net/address.ts";
import { canonicalPrefix, type Prefix, parsePrefix } from "../net/prefix.ts";
import { type Component, componentsOf, fromNlri, ruleProblem, toNlri } from "./flowspec-nlri.ts";
import {
  CommunitiesAttributeSchema,
  ExtendedCommunitiesAttributeSchema,
  IPAddressPrefixSchema,
  LocalPrefAttributeSchema,
  MpReachNLRIAttributeSchema,
  NextHopAttributeSchema,
  OriginAttributeSchema,
  TrafficRateExtendedSchema,
} from "./proto/gobgp3/attribute_pb.ts";
import { type Path, PathSchema } from "./proto/gobgp3/gobgp_pb.ts";
import { familyOfRoute, fromGobgpFamily, type RouteFamily, toGobgpFamily } from "./route-family.ts";

/**
 * "FLWL". Stays within the speaker: it is the receive-side path identifier of RFC 7911, which GoBGP keeps apart from
 * the one it sends. A route of the same prefix that someone else put into the speaker has another identifier and stays.
 */
const OUR_IDENTIFIER = 0x464c574c;

const ORIGIN_IGP = 0;
/** A route with more is refused: one path must fit a message to the peer (4,096 bytes) with room to spare. */
export const COMMUNITIES_MAX = 64;
const COMMUNITY = /^(0|[1-9]\d{0,4}):(0|[1-9]\d{0,4})$/;
const UINT32_MAX = 0xffff_ffff;
/** GoBGP asks for one; FlowSpec goes out without. */
const NO_NEXT_HOP = "0.0.0.0";

/**
 * What the speaker holds one path of ours for: the prefix of a unicast route, and of a FlowSpec route its family and
 * components. It says all that a withdrawal must name.
 */
export type RouteKey = string;

/** A path of ours as the speaker has it. `attributes` compares with attributesOf(). */
export interface OwnPath {
  readonly key: RouteKey;
  readonly attributes: string;
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
 * Why this route must not be sent, or null. GoBGP 3.10 does not check: it turns an address that it cannot read into
 * 0.0.0.0, and a length that is too long makes peers reset the session.
 */
export function routeProblem(route: Route): string | null {
  const { prefix, communities, localPref } = route;
  if (parsePrefix(prefix.text)?.text !== prefix.text) return `invalid prefix ${prefix.text}`;
  if (route.kind === "flowspec" && !isFor(route.rule, prefix)) {
    return `the rule is not for ${prefix.text}`;
  }
  const problem = route.kind === "unicast" ? nextHopProblem(route.nextHop, prefix) : ruleProblem(route.rule);
  if (problem !== null) return problem;
  if (communities.length > COMMUNITIES_MAX) return `more than ${COMMUNITIES_MAX} communities`;
  const wrong = communities.find((community) => communityValue(community) === null);
  if (wrong !== undefined) return `invalid community ${wrong}`;
  if (!Number.isInteger(localPref) || localPref < 0 || localPref > UINT32_MAX) return `invalid local_pref ${localPref}`;
  return null;
}

/** Never wider than the traffic of the prefix: what goes to it, or what comes from it. */
function isFor({ destination, source }: Rule, { text }: Prefix): boolean {
  return destination?.text === text || source?.text === text;
}

function nextHopProblem(nextHop: string, prefix: Route["prefix"]): string | null {
  const hop = parseAddress(nextHop);
  if (hop === null || hop === "0.0.0.0" || hop === "::") return `invalid next hop ${nextHop}`;
  return addressFamily(hop) === prefix.family ? null : `next hop ${nextHop} is not of the family of ${prefix.text}`;
}

/** Of a route without a routeProblem(). */
export function toPath(route: Route): Path {
  return pathWith({ route, attributes: packAttributes(route), components: new Map() });
}

/** toPath() of each, as it is asked for; what many have in common is made once. */
export function* toPaths(routes: Iterable<Route>): Iterable<Path> {
  const known = new Map<string, Any[]>();
  const components = new Map<string, Any>();
  for (const route of routes) {
    const what = route.kind === "unicast" ? route.nextHop : rateOf(route.rule.action);
    const shared = `${what} ${route.communities.join()} ${route.localPref}`;
    const attributes = known.get(shared) ?? packAttributes(route);
    known.set(shared, attributes);
    yield pathWith({ route, attributes, components });
  }
}

function pathWith(options: { route: Route; attributes: Any[]; components: Map<string, Any> }): Path {
  const { route, attributes: pattrs, components } = options;
  const nlri = route.kind === "unicast" ? prefixNlri(route.prefix) : toNlri(componentsOf(route.rule), components);
  return create(PathSchema, { ...pathIdentity(familyOfRoute(route), nlri), pattrs });
}

function packAttributes(route: Route): Any[] {
  const attributes = [
    pack(OriginAttributeSchema, { origin: ORIGIN_IGP }),
    // For all families: GoBGP moves what is not IPv4 unicast into MP_REACH_NLRI by itself.
    pack(NextHopAttributeSchema, { nextHop: route.kind === "unicast" ? route.nextHop : NO_NEXT_HOP }),
  ];
  const communities = sortedCommunities(route);
  if (communities.length > 0) attributes.push(pack(CommunitiesAttributeSchema, { communities }));
  if (route.localPref > 0) attributes.push(pack(LocalPrefAttributeSchema, { localPref: route.localPref }));
  if (route.kind === "flowspec") {
    // The AS beside the rate informs people only (RFC 8955, 7.1) and has 16 bits.
    const rate = pack(TrafficRateExtendedSchema, { asn: 0, rate: rateOf(route.rule.action) });
    attributes.push(pack(ExtendedCommunitiesAttributeSchema, { communities: [rate] }));
  }
  return attributes;
}

/** Takes away our path of this key, and ours alone. */
export function toWithdrawal(key: RouteKey): Path {
  const family = familyOfKey(key);
  const isFlowspec = family.endsWith("flowspec");
  const nlri = isFlowspec
    ? toNlri(JSON.parse(key.slice(family.length)) as Component[])
    : prefixNlri(canonicalPrefix(key));
  return create(PathSchema, { ...pathIdentity(family, nlri), isWithdraw: true });
}

function pathIdentity(family: RouteFamily, nlri: Any) {
  return { family: toGobgpFamily(family), nlri, identifier: OUR_IDENTIFIER };
}

function prefixNlri({ address, length }: Prefix): Any {
  return pack(IPAddressPrefixSchema, { prefix: address, prefixLen: length });
}

export function isOurs(path: Path): boolean {
  // 3.x writes "<nil>" for a path that came from no peer, later versions nothing.
  const isLocal = path.neighborIp === "<nil>" || path.neighborIp === "";
  return isLocal && path.identifier === OUR_IDENTIFIER;
}

/** null: not of a family of ours. */
export function keyOfPath(path: Path): RouteKey | null {
  const family = fromGobgpFamily(path.family);
  if (family === null || path.nlri === undefined) return null;
  if (family.endsWith("flowspec")) {
    const components = fromNlri(path.nlri);
    return components === null ? null : flowspecKey(family, components);
  }
  const nlri = anyUnpack(path.nlri, IPAddressPrefixSchema);
  const address = nlri === undefined ? null : parseAddress(nlri.prefix);
  return nlri === undefined || address === null ? null : `${address}/${nlri.prefixLen}`;
}

/** What distinguishes two routes of one key. */
export function attributesOf(route: Route): string {
  const what = route.kind === "unicast" ? route.nextHop : rateText(rateOf(route.rule.action));
  return attributesText(what, sortedCommunities(route), route.localPref);
}

export function toOwnPath(path: Path): OwnPath | null {
  const key = isOurs(path) ? keyOfPath(path) : null;
  if (key === null) return null;
  const isFlowspec = familyOfKey(key).endsWith("flowspec");
  let what = "";
  let communities: readonly number[] = [];
  let localPref = 0;
  for (const attribute of path.pattrs) {
    what ||= isFlowspec ? rateOfAttribute(attribute) : nextHopOf(attribute, familyOfKey(key));
    communities = anyUnpack(attribute, CommunitiesAttributeSchema)?.communities ?? communities;
    localPref = anyUnpack(attribute, LocalPrefAttributeSchema)?.localPref ?? localPref;
  }
  return { key, attributes: attributesText(what, communities, localPref) };
}

function nextHopOf(attribute: Any, family: RouteFamily): string {
  if (family === "ipv4-unicast") return anyUnpack(attribute, NextHopAttributeSchema)?.nextHop ?? "";
  return anyUnpack(attribute, MpReachNLRIAttributeSchema)?.nextHops[0] ?? "";
}

/** Bytes a second; 0 discards. */
function rateOf(action: RuleAction): number {
  return action.kind === "discard" ? 0 : action.bytesPerSecond;
}

function rateOfAttribute(attribute: Any): string {
  const communities = anyUnpack(attribute, ExtendedCommunitiesAttributeSchema)?.communities ?? [];
  return communities.map((community) => rateText(anyUnpack(community, TrafficRateExtendedSchema)?.rate ?? null)).join();
}

/** It comes back with the precision that it has on the wire. null: another extended community. */
function rateText(rate: number | null): string {
  return rate === null ? "other" : `rate ${Math.fround(rate)}`;
}

function attributesText(what: string, communities: readonly number[], localPref: number): string {
  return `${what} ${[...communities].sort((a, b) => a - b).join(",")} ${localPref}`;
}

/** A set in any order: sorted and without doubles, as peers expect it. */
function sortedCommunities(route: Route): number[] {
  const values = new Set(route.communities.map((community) => communityValue(community) ?? 0));
  return [...values].sort((a, b) => a - b);
}

function communityValue(community: string): number | null {
  const match = COMMUNITY.exec(community);
  const high = Number(match?.[1]);
  const low = Number(match?.[2]);
  return match === null || high > 0xffff || low > 0xffff ? null : high * 0x1_0000 + low;
}

/** anyPack() with GoBGP's message made in the same step. */
function pack<Schema extends DescMessage>(schema: Schema, init: MessageInitShape<Schema>): Any {
  return anyPack(schema, create(schema, init));
}
