/** The section `bgp`: the speaker, its neighbors, and the policies by which these get routes. */
import { type Static, Type } from "@sinclair/typebox";
import { type NeighborPolicy, NO_CHANGES, ROUTE_FAMILIES, type RouteChanges } from "../../bgp/policy-config.ts";
import { BGP_INSTANCE_MAX, COMMUNITIES_MAX } from "../../limits.ts";
import { type CommunitiesAt, ROUTE_METHODS } from "../../mitigation/announcer.ts";
import type { GroupMitigation } from "../../mitigation/mitigation-config.ts";
import { FLOWSPEC_FIELDS } from "../../mitigation/rules/flowspec-support.ts";
import { RULES_MAX } from "../../mitigation/rules/rule.ts";
import { parseAddress } from "../../net/address.ts";
import { communitiesText, POLICY_BEGINNINGS, parseCommunity } from "../../net/community.ts";
import {
  boolean,
  closedObject,
  defaultedObject,
  described,
  integer,
  list,
  oneOf,
  text,
} from "../../schema/schema-forms.ts";
import { parseRange } from "../../schema/text-forms.ts";

import { BLACKHOLE_KEYS } from "./route-terms.ts";

const BGP_NEIGHBORS_MAX = 64;
const BGP_LISTEN_MAX = 16;
const POLICIES_MAX = 64;
const POLICY_RULES_MAX = 100_000;
const PREPEND_MAX = 10;

const CHANGES_KEYS = {
  communities: described(
    Type.Optional(Type.Array(text("community"), { maxItems: COMMUNITIES_MAX })),
    `The communities there, in place of those of the routes: standard, large, and extended ones with ${POLICY_BEGINNINGS.replaceAll(/\S+:/g, "`$&`")}. An order's own communities stay.`,
    { ifAbsent: "those of the routes" },
  ),
  next_hop: described(Type.Optional(text("ipv4")), "The IPv4 next hop.", { ifAbsent: "that of the routes" }),
  next_hop6: described(Type.Optional(text("ipv6")), "The IPv6 next hop.", { ifAbsent: "that of the routes" }),
  med: described(Type.Optional(integer(0, 0xffff_ffff)), "The MULTI_EXIT_DISC of the routes.", { ifAbsent: "none" }),
  prepend: described(integer(0, PREPEND_MAX, 0), "How often the own AS number is prepended to the AS path."),
};

const FLOWSPEC_KEYS = {
  communities: described(
    Type.Optional(Type.Array(text("community"), { maxItems: COMMUNITIES_MAX })),
    "The communities there, in place of the standard and large ones of the rules.",
    { ifAbsent: "those of the rules" },
  ),
  match: described(
    Type.Optional(Type.Array(oneOf(...FLOWSPEC_FIELDS), { maxItems: FLOWSPEC_FIELDS.length })),
    "The fields that its routers match beside the banned prefix. Rules are found within these; where they do not separate the attack, there is none.",
    { ifAbsent: "all of them" },
  ),
  ranges: described(boolean(true), "Whether its routers match a range of values in a field, such as ports 1024-65535."),
  lists: described(boolean(true), "Whether its routers match several values or ranges in a field of one rule."),
  unset_flags: described(boolean(true), "Whether its routers match TCP flags that must be unset."),
  rules_per_ban: described(integer(1, RULES_MAX, RULES_MAX), "The number of rules that one ban has there at most."),
  rules: described(
    Type.Optional(integer(1, POLICY_RULES_MAX)),
    "The number of rules that all bans have there at most, IPv4 and IPv6 together. Beyond it the least valuable rules are left out: first those of bans that tenants ordered for no attack, then those of small attacks before those of large ones, last those that the administrator ordered; and of one ban the last.",
    { ifAbsent: "no limit" },
  ),
};

const Policy = closedObject({
  name: described(text("policyName"), "The name by which neighbors refer to it. Each may be used once."),
  description: described(Type.Optional(text("description")), "A description for people."),
  families: described(
    Type.Optional(Type.Array(oneOf(...ROUTE_FAMILIES), { minItems: 1, maxItems: ROUTE_FAMILIES.length })),
    "The address families that its sessions offer. A change ends these sessions for a moment.",
    { ifAbsent: "all of them: each neighbor selects those that it supports" },
  ),
  methods: described(
    Type.Optional(Type.Array(oneOf(...ROUTE_METHODS), { minItems: 1, maxItems: ROUTE_METHODS.length })),
    "The methods of bans whose routes it takes.",
    { ifAbsent: "all of them" },
  ),
  ipv4_lengths: described(
    Type.Optional(text("range32")),
    "The lengths of IPv4 prefixes that it takes as blackhole or divert, such as `24-32`.",
    { ifAbsent: "any" },
  ),
  ipv6_lengths: described(Type.Optional(text("range128")), "The same for IPv6 prefixes.", { ifAbsent: "any" }),
  blackhole: described(defaultedObject(CHANGES_KEYS), "Values of blackhole routes there."),
  divert: described(defaultedObject(CHANGES_KEYS), "Values of divert routes there."),
  flowspec: described(
    defaultedObject(FLOWSPEC_KEYS),
    "Bounds of the FlowSpec rules that it takes, and their communities there.",
  ),
});
type PolicyFile = Static<typeof Policy>;

const Asn = integer(1, 0xffff_ffff);

const Neighbor = closedObject({
  address: described(text("address"), "The address of the neighbor. Each may be listed once."),
  name: described(
    Type.Optional(text("neighborName")),
    "The name by which the dashboard shows it, beside its address. A change keeps the session.",
  ),
  description: described(Type.Optional(text("description")), "A description for people, shown beside the name."),
  remote_asn: described(Asn, "The AS number of the neighbor."),
  port: described(integer(1, 0xffff, 179), "The TCP port of the neighbor."),
  password_env: described(
    Type.Optional(text("variableName")),
    "The environment variable with the TCP MD5 password. The service does not start while it is unset or empty.",
  ),
  password_file: described(
    Type.Optional(text("absolutePath")),
    "A file whose first line is the TCP MD5 password, in place of `password_env`. It is read at each look at the neighbors, every ten seconds: a new password needs no reload.",
  ),
  source_address: described(
    Type.Optional(text("address")),
    "The address from which gobgpd connects to it. Without it the kernel selects one; to take it away, remove the neighbor, reload, and add it again.",
  ),
  local_asn: described(Type.Optional(Asn), "The AS number of the speaker in this session (local-as).", {
    ifAbsent: "that of the speaker",
  }),
  hold_seconds: described(Type.Optional(integer(3, 65_535)), "The hold time.", { ifAbsent: "90 seconds" }),
  keepalive_seconds: described(Type.Optional(integer(1, 21_845)), "The interval of keepalives.", {
    ifAbsent: "a third of `hold_seconds`",
  }),
  gtsm_hops: described(
    Type.Optional(integer(1, 254)),
    "GTSM (RFC 5082): packets that came by more than this number of hops are dropped; 1 for a neighbor on the link. The neighbor must do the same. Not allowed with `multihop_ttl`.",
  ),
  long_lived_seconds: described(
    Type.Optional(integer(1, 0xff_ffff)),
    "Long-lived graceful restart (RFC 9494): how long the neighbor may keep routes after the time of a graceful restart. A route that no service withdraws stays there that long.",
  ),
  multihop_ttl: described(
    integer(0, 255, 0),
    "The TTL of packets to a neighbor that is not directly connected; 0 means directly connected.",
  ),
  policy: described(Type.Optional(text("policyName")), "The policy of `bgp.policies` by which it gets routes.", {
    ifAbsent: "it gets all routes as hostgroups have them",
  }),
  dry_run: described(
    boolean(false),
    "Whether the neighbor has a session and gets no route. With the managed speaker only. A change keeps the session.",
  ),
});

export const BgpSection = described(
  closedObject({
    speaker: described(
      Type.Unsafe<"managed" | "external">({ ...oneOf("managed", "external"), default: "managed" }),
      "`managed`: the service starts gobgpd, and gobgpd keeps running when the service stops with bans in force. `external`: the service uses a gobgpd that you run.",
    ),
    grpc: described(
      Type.Optional(text("grpcTarget")),
      "The gRPC address of the external speaker. Required with speaker `external` and not allowed otherwise.",
    ),
    instance: described(
      Type.Optional(integer(1, BGP_INSTANCE_MAX)),
      "The number of this service where several use one gobgpd: each changes only the routes that have its own number. With it a service that lost its `state_dir` still finds its routes in an external gobgpd.",
      { ifAbsent: "a random one, kept in `state_dir`" },
    ),
    local_asn: described(Asn, "The AS number of the speaker."),
    router_id: described(text("ipv4"), "The BGP router ID of the speaker."),
    listen: described(
      Type.Optional(
        Type.Union([text("socketAddress"), list(text("socketAddress"), BGP_LISTEN_MAX, { atLeastOne: true })]),
      ),
      "Where a managed gobgpd accepts connections of neighbors: one address, or a list of addresses with the same port, as one of each family. Without it gobgpd only connects by itself, and a session takes up to ten seconds to come up.",
    ),
    next_hop: described(text("ipv4"), "The IPv4 next hop of blackhole routes: an address that your routers discard."),
    next_hop6: described(
      text("ipv6", { default: "100::1" }),
      "The IPv6 next hop of blackhole routes: an address that your routers discard.",
    ),
    communities: described(
      Type.Array(text("community"), { maxItems: COMMUNITIES_MAX, default: ["65535:666"] }),
      "The communities of blackhole routes: standard, extended and large ones. Each may be listed once.",
    ),
    ...BLACKHOLE_KEYS,
    local_pref: described(
      integer(0, 0xffff_ffff, 0),
      "The local preference of blackhole routes; 0 sets none. It reaches neighbors of the same AS only.",
    ),
    neighbors: described(
      list(Neighbor, BGP_NEIGHBORS_MAX),
      "The routers that routes are announced to. Speaker `managed` needs at least one.",
    ),
    policies: described(
      list(Policy, POLICIES_MAX),
      "The routes that neighbors take, and other values that these have there. A neighbor names its policy; several may have the same one. With the managed speaker only.",
    ),
  }),
  "The BGP speaker that announces routes. Without this section nothing is announced.",
  {
    examples: [
      {
        local_asn: 64500,
        router_id: "192.0.2.10",
        listen: "192.0.2.10:179",
        next_hop: "192.0.2.66",
        neighbors: [
          { address: "192.0.2.254", name: "edge1", remote_asn: 64501, password_env: "FLOODWALL_BGP_PASSWORD" },
          { address: "192.0.2.253", name: "upstream", remote_asn: 64502, policy: "transit" },
        ],
        policies: [
          {
            name: "transit",
            methods: ["blackhole", "flowspec"],
            blackhole: { communities: ["64502:666"], prepend: 1 },
            divert: {},
            flowspec: { match: ["protocol", "source_port", "destination_port"], rules: 100 },
          },
        ],
      },
      {
        speaker: "external",
        grpc: "/run/gobgpd/gobgp.sock",
        local_asn: 64500,
        router_id: "192.0.2.10",
        next_hop: "192.0.2.66",
      },
    ],
  },
);

export function buildPolicy(file: PolicyFile): NeighborPolicy {
  const { flowspec } = file;
  return {
    name: file.name,
    families: file.families ?? ROUTE_FAMILIES,
    methods: file.methods ?? ROUTE_METHODS,
    lengths: { 4: lengthsOf(file.ipv4_lengths, 32), 6: lengthsOf(file.ipv6_lengths, 128) },
    blackhole: changesOf(file.blackhole),
    divert: changesOf(file.divert),
    flowspec: {
      communities: communitiesOf(flowspec.communities),
      fields: flowspec.match ?? FLOWSPEC_FIELDS,
      ranges: flowspec.ranges,
      lists: flowspec.lists,
      unsetFlags: flowspec.unset_flags,
      rulesPerBan: flowspec.rules_per_ban,
      rules: flowspec.rules ?? null,
    },
  };
}

function changesOf({
  communities,
  next_hop: hop,
  next_hop6: hop6,
  med,
  prepend,
}: PolicyFile["blackhole"]): RouteChanges {
  const nextHop = hop === undefined ? null : parseAddress(hop);
  const nextHop6 = hop6 === undefined ? null : parseAddress(hop6);
  return { ...NO_CHANGES, communities: communitiesOf(communities), nextHop, nextHop6, med: med ?? null, prepend };
}

function communitiesOf(texts: readonly string[] | undefined): RouteChanges["communities"] {
  return texts === undefined ? null : texts.flatMap((each) => parseCommunity(each) ?? []);
}

function lengthsOf(range: string | undefined, most: number): NeighborPolicy["lengths"][4] {
  return (range === undefined ? null : parseRange(range)) ?? { from: 0, to: most };
}

/** Each once. */
export function communitiesAtOf(mitigations: readonly GroupMitigation[]): readonly CommunitiesAt[] {
  const all = mitigations.flatMap(({ blackhole, divert }) =>
    [blackhole, divert].flatMap((terms) => terms?.communitiesAt ?? []),
  );
  const textOf = ({ policy, communities }: CommunitiesAt) => `${policy} ${communitiesText(communities)}`;
  return [...new Map(all.map((at) => [textOf(at), at])).values()];
}
