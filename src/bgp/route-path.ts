/**
 * Our routes as GoBGP's paths and back. Every path of ours carries one path identifier, so that the speaker itself
 * remembers what is ours: nothing has to be recorded beside it, and a service killed at any moment finds its routes.
 */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { Route } from "../mitigation/announcer.ts";
import { addressFamily, parseAddress } from "../net/address.ts";
import { parsePrefix } from "../net/prefix.ts";
import { IPV4_UNICAST, IPV6_UNICAST } from "./gobgp-client.ts";
import {
  CommunitiesAttributeSchema,
  IPAddressPrefixSchema,
  LocalPrefAttributeSchema,
  MpReachNLRIAttributeSchema,
  NextHopAttributeSchema,
  OriginAttributeSchema,
} from "./proto/attribute_pb.ts";
import { type Family, Family_Afi, type Path, PathSchema } from "./proto/gobgp_pb.ts";

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

/** A path of ours as the speaker has it. `attributes` compares with attributesOf(). */
export interface OwnPath {
  readonly prefix: string;
  readonly attributes: string;
}

export function familyOf(prefix: string): Family {
  return prefix.includes(":") ? IPV6_UNICAST : IPV4_UNICAST;
}

/**
 * Why this route must not be sent, or null. GoBGP 3.10 does not check: it turns an address that it cannot read into
 * 0.0.0.0, and a length that is too long makes peers reset the session.
 */
export function routeProblem(route: Route): string | null {
  const { prefix, nextHop, communities, localPref } = route;
  if (parsePrefix(prefix.text)?.text !== prefix.text) return `invalid prefix ${prefix.text}`;
  const hop = parseAddress(nextHop);
  if (hop === null || hop === "0.0.0.0" || hop === "::") return `invalid next hop ${nextHop}`;
  if (addressFamily(hop) !== prefix.family) return `next hop ${nextHop} is not of the family of ${prefix.text}`;
  if (communities.length > COMMUNITIES_MAX) return `more than ${COMMUNITIES_MAX} communities`;
  const wrong = communities.find((community) => communityValue(community) === null);
  if (wrong !== undefined) return `invalid community ${wrong}`;
  if (!Number.isInteger(localPref) || localPref < 0 || localPref > UINT32_MAX) return `invalid local_pref ${localPref}`;
  return null;
}

/** Of a route without a routeProblem(). */
export function toPath(route: Route): Path {
  return pathWith(route, packAttributes(route));
}

/** toPath() of each, as it is asked for; attributes that many have in common are made once. */
export function* toPaths(routes: Iterable<Route>): Iterable<Path> {
  const known = new Map<string, Any[]>();
  for (const route of routes) {
    const key = `${route.nextHop} ${route.communities.join()} ${route.localPref}`;
    const attributes = known.get(key) ?? packAttributes(route);
    known.set(key, attributes);
    yield pathWith(route, attributes);
  }
}

function pathWith(route: Route, pattrs: Any[]): Path {
  return create(PathSchema, { ...pathKey(route.prefix.text), pattrs });
}

function packAttributes(route: Route): Any[] {
  const attributes = [
    pack(OriginAttributeSchema, { origin: ORIGIN_IGP }),
    // For both families: GoBGP moves a v6 next hop into MP_REACH_NLRI by itself.
    pack(NextHopAttributeSchema, { nextHop: route.nextHop }),
  ];
  const communities = sortedCommunities(route);
  if (communities.length > 0) attributes.push(pack(CommunitiesAttributeSchema, { communities }));
  if (route.localPref > 0) attributes.push(pack(LocalPrefAttributeSchema, { localPref: route.localPref }));
  return attributes;
}

/** Takes away our path of this prefix, and ours alone. */
export function toWithdrawal(prefix: string): Path {
  return create(PathSchema, { ...pathKey(prefix), isWithdraw: true });
}

function pathKey(prefix: string) {
  const [address = "", length = ""] = prefix.split("/");
  const nlri = pack(IPAddressPrefixSchema, { prefix: address, prefixLen: Number(length) });
  return { family: familyOf(prefix), nlri, identifier: OUR_IDENTIFIER };
}

export function isOurs(path: Path): boolean {
  // 3.x writes "<nil>" for a path that came from no peer, later versions nothing.
  const isLocal = path.neighborIp === "<nil>" || path.neighborIp === "";
  return isLocal && path.identifier === OUR_IDENTIFIER;
}

/** null: not a unicast prefix. */
export function prefixOfPath(path: Path): string | null {
  const nlri = path.nlri === undefined ? undefined : anyUnpack(path.nlri, IPAddressPrefixSchema);
  const address = nlri === undefined ? null : parseAddress(nlri.prefix);
  return nlri === undefined || address === null ? null : `${address}/${nlri.prefixLen}`;
}

/** What distinguishes two routes of one prefix. */
export function attributesOf(route: Route): string {
  return attributesText(route.nextHop, sortedCommunities(route), route.localPref);
}

export function toOwnPath(path: Path): OwnPath | null {
  const prefix = isOurs(path) ? prefixOfPath(path) : null;
  if (prefix === null) return null;
  let nextHop = "";
  let communities: readonly number[] = [];
  let localPref = 0;
  for (const attribute of path.pattrs) {
    nextHop ||= nextHopOf(attribute, path);
    communities = anyUnpack(attribute, CommunitiesAttributeSchema)?.communities ?? communities;
    localPref = anyUnpack(attribute, LocalPrefAttributeSchema)?.localPref ?? localPref;
  }
  return { prefix, attributes: attributesText(nextHop, communities, localPref) };
}

function nextHopOf(attribute: Any, path: Path): string {
  if (path.family?.afi === Family_Afi.IP) return anyUnpack(attribute, NextHopAttributeSchema)?.nextHop ?? "";
  return anyUnpack(attribute, MpReachNLRIAttributeSchema)?.nextHops[0] ?? "";
}

function attributesText(nextHop: string, communities: readonly number[], localPref: number): string {
  return `${nextHop} ${[...communities].sort((a, b) => a - b).join(",")} ${localPref}`;
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
