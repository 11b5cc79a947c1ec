/**
 * The routes of blackholes and diverts: the keys of `bgp` and `scrubbing` that hostgroups have, too, and from which length on
 * a wider prefix is announced.
 */
import { Type } from "@sinclair/typebox";
import { COMMUNITIES_MAX } from "../../limits.ts";
import type { EnclosingLength, EnclosingLengths } from "../../mitigation/enclosing.ts";
import type { RouteTerms } from "../../mitigation/mitigation-config.ts";
import { parseAddress } from "../../net/address.ts";
import { parseCommunity } from "../../net/community.ts";
import { closedObject, described, integer, list, text } from "../../schema/schema-forms.ts";
import { parseRange } from "../../schema/text-forms.ts";

const COMMUNITIES_AT_MAX = 64;

export const TERMS_KEYS = {
  next_hop: described(Type.Optional(text("ipv4")), "The IPv4 next hop of the routes."),
  next_hop6: described(Type.Optional(text("ipv6")), "The IPv6 next hop of the routes."),
  communities: described(
    list(text("community"), COMMUNITIES_MAX),
    "The communities of the routes: standard, extended and large ones.",
  ),
  communities_at: described(
    list(
      closedObject({
        policy: described(text("policyName"), "The name of the policy in `bgp.policies`."),
        communities: described(
          Type.Array(text("community"), { maxItems: COMMUNITIES_MAX }),
          "The communities of the routes there, in place of those of the policy.",
        ),
      }),
      COMMUNITIES_AT_MAX,
    ),
    "Other communities at the neighbors of some policies, such as an upstream's own for the blackholes of one hostgroup.",
  ),
  local_pref: described(integer(0, 0xffff_ffff, 0), "The local preference of the routes; 0 sets none."),
};

/** As the internet takes them: IPv4 prefixes to /24, IPv6 ones to /48. */
const ANNOUNCE_V4 = integer(8, 32);
const ANNOUNCE_V6 = integer(16, 128);
const MOVES_ALL =
  "If an address of `protected_whitelist`, or one that the service itself needs, is in it, it is not announced, and the ban goes on to its next rung, or to `ban.fallback`.";

/** Keys of `bgp` that hostgroups have, too, described with the section. */
export const BLACKHOLE_KEYS = {
  communities_at: TERMS_KEYS.communities_at,
  announce_v4: described(
    Type.Optional(ANNOUNCE_V4),
    "The length of the IPv4 prefix that is announced as a blackhole for a ban within it, to the neighbors whose policy takes no prefix as long as that of the ban (`ipv4_lengths`), such as 24. All of its traffic is dropped there. If an address of `protected_whitelist`, or one that the service itself needs, is in it, these neighbors get nothing. With the managed speaker only.",
    { ifAbsent: "these neighbors get nothing" },
  ),
  announce_v6: described(Type.Optional(ANNOUNCE_V6), "The same for IPv6, such as 48.", {
    ifAbsent: "these neighbors get nothing",
  }),
};

/** Keys of `scrubbing` for the routes to a scrubbing center. */
export const DIVERT_KEYS = {
  ...TERMS_KEYS,
  announce_v4: described(
    Type.Optional(ANNOUNCE_V4),
    `The length of the IPv4 prefix that is announced in place of a longer one of a ban, such as 24 where the scrubbing center is reached through the internet, which takes no longer ones. Bans within one such prefix share its route, which stays until the last of them ends. All of its traffic is diverted. ${MOVES_ALL}`,
    { ifAbsent: "the prefix of the ban is announced" },
  ),
  announce_v6: described(Type.Optional(ANNOUNCE_V6), "The same for IPv6, such as 48.", {
    ifAbsent: "the prefix of the ban is announced",
  }),
};

export interface TermsFile {
  readonly next_hop?: string;
  readonly next_hop6?: string;
  readonly communities: readonly string[];
  readonly communities_at?: readonly { readonly policy: string; readonly communities: readonly string[] }[];
  readonly local_pref: number;
  readonly announce_v4?: number;
  readonly announce_v6?: number;
}

/** The terms at the top level, and the prefixes that neighbors take. */
export interface BlackholeFile extends TermsFile {
  readonly policies?: readonly PolicyLengthsFile[];
  readonly neighbors?: readonly { readonly policy?: string }[];
}

interface PolicyLengthsFile {
  readonly name: string;
  readonly methods?: readonly string[];
  readonly ipv4_lengths?: string;
  readonly ipv6_lengths?: string;
}

export const NO_TERMS: TermsFile = { communities: [], local_pref: 0 };

export function buildBlackhole(file: BlackholeFile): RouteTerms {
  return withEnclosing(buildTerms(file), ofBlackholes(file));
}

export function buildDivert(file: TermsFile): RouteTerms {
  return withEnclosing(buildTerms(file), ofDiverts(file));
}

function buildTerms({
  next_hop: nextHop,
  next_hop6: nextHop6,
  communities,
  communities_at: communitiesAt = [],
  local_pref: localPref,
}: TermsFile): RouteTerms {
  const valid = (texts: readonly string[]) => texts.flatMap((each) => parseCommunity(each) ?? []);
  const at = communitiesAt.map((each) => ({ policy: each.policy, communities: valid(each.communities) }));
  return {
    ...(at.length > 0 && { communitiesAt: at }),
    nextHop: nextHop === undefined ? null : parseAddress(nextHop),
    nextHop6: nextHop6 === undefined ? null : parseAddress(nextHop6),
    communities: communities.flatMap((text) => parseCommunity(text) ?? []),
    localPref,
  };
}

function withEnclosing(terms: RouteTerms, enclosing: EnclosingLengths): RouteTerms {
  return Object.keys(enclosing).length === 0 ? terms : { ...terms, enclosing };
}

/** In place of each longer prefix. */
function ofDiverts({ announce_v4: v4, announce_v6: v6 }: TermsFile): EnclosingLengths {
  return lengths(
    v4 === undefined ? null : { length: v4, upTo: v4 },
    v6 === undefined ? null : { length: v6, upTo: v6 },
  );
}

/** Where a neighbor does not take a prefix for its length. */
function ofBlackholes(file: BlackholeFile): EnclosingLengths {
  return lengths(
    of(file.announce_v4, longestTakenByAll(file, "ipv4_lengths", 32)),
    of(file.announce_v6, longestTakenByAll(file, "ipv6_lengths", 128)),
  );
}

function of(length: number | undefined, taken: number): EnclosingLength | null {
  return length === undefined ? null : { length, upTo: Math.max(length, taken) };
}

function lengths(v4: EnclosingLength | null, v6: EnclosingLength | null): EnclosingLengths {
  return { ...(v4 && { 4: v4 }), ...(v6 && { 6: v6 }) };
}

function longestTakenByAll(
  { policies = [], neighbors = [] }: BlackholeFile,
  key: "ipv4_lengths" | "ipv6_lengths",
  bits: number,
): number {
  const taken = neighbors.flatMap(({ policy: name }) => {
    const policy = policies.find((each) => each.name === name);
    const isTaken = policy?.methods?.includes("blackhole") ?? true;
    const range = policy?.[key] === undefined || !isTaken ? null : parseRange(policy[key]);
    return range === null ? [] : range.to;
  });
  return Math.min(bits, ...taken);
}
