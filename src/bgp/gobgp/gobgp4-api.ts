/** The API of GoBGP 4.x (package api): alternatives in a message are a oneof. */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { cachedByKey, type EncodedMessage, encodedField } from "../encoded-message.ts";
import type { Component } from "../flowspec-nlri.ts";
import { type FamilyNumbers, familyNumbers, type RouteFamily } from "../route-family.ts";
import { speakerPeer } from "../speaker/peer-message.ts";
import type { ListedName, Nlri, PathAttributes, PathChange, SpeakerPeer } from "../speaker/speaker-client.ts";
import type { GobgpApi } from "./gobgp-api.ts";
import {
  communityMessages,
  type ExtendedMessage,
  type ListedCommunities,
  NO_COMMUNITIES,
  pathCommunities,
} from "./path-communities.ts";
import {
  type AddPathStreamRequest,
  AddPathStreamRequestSchema,
  type Attribute,
  AttributeSchema,
  CommunityAction_Type,
  Conditions_RouteType,
  DefinedType,
  type ExtendedCommunity,
  ExtendedCommunitySchema,
  type FlowSpecRule,
  FlowSpecRuleSchema,
  GoBgpService,
  MatchSet_Type,
  MedAction_Type,
  type NLRI,
  NLRISchema,
  type Path,
  PathSchema,
  type Peer,
  PeerState_AdminState,
  ResetPeerRequest_Direction,
  RouteAction,
  TableLookupPrefix_Type,
  TableType,
} from "./proto/gobgp4_pb.ts";

export const gobgp4Api: GobgpApi<Path, Peer, AddPathStreamRequest> = {
  version: 4,
  name: GoBgpService.typeName,
  tables: { global: TableType.GLOBAL, adjOut: TableType.ADJ_OUT },
  exactLookup: TableLookupPrefix_Type.EXACT,
  outward: ResetPeerRequest_Direction.OUT,
  policy: {
    neighborSet: DefinedType.NEIGHBOR,
    largeCommunitySet: DefinedType.LARGE_COMMUNITY,
    matchAny: MatchSet_Type.ANY,
    local: Conditions_RouteType.LOCAL,
    accept: RouteAction.ACCEPT,
    reject: RouteAction.REJECT,
    remove: CommunityAction_Type.REMOVE,
    replace: CommunityAction_Type.REPLACE,
    replaceMed: MedAction_Type.REPLACE,
  },
  service: (transport) => createClient(GoBgpService, transport),
  addPathsRequest,
  encodePath,
  toListedName,
  toAttributes: ({ pattrs }) => toAttributes(pattrs),
  toSpeakerPeer,
};

function addPathsRequest(paths: readonly EncodedMessage[]): AddPathStreamRequest {
  const request = create(AddPathStreamRequestSchema, { tableType: TableType.GLOBAL });
  request.$unknown = encodedField(AddPathStreamRequestSchema.field.paths.number, paths);
  return request;
}

function encodePath({ family, nlri, identifier, attributes }: PathChange): EncodedMessage {
  const isWithdraw = attributes === null;
  const own = toBinary(PathSchema, create(PathSchema, { nlri: toMessage(nlri), identifier, isWithdraw }));
  const common = encodeFamily(familyNumbers(family));
  return isWithdraw ? [common, own] : [common, own, encodeAttributes(attributes)];
}

const encodeFamily = cachedByKey((family: FamilyNumbers) => toBinary(PathSchema, create(PathSchema, { family })));

function toSpeakerPeer(peer: Peer): SpeakerPeer {
  const capabilities = peer.state?.remoteCap ?? [];
  return speakerPeer(peer, {
    isAdminDown: peer.state?.adminState === PeerState_AdminState.DOWN,
    isOverLimit: peer.state?.adminState === PeerState_AdminState.PFX_CT,
    announced: capabilities.flatMap(({ cap }) => (cap.case === "multiProtocol" ? (cap.value.family ?? []) : [])),
  });
}

const encodeAttributes = cachedByKey(({ nextHop, localPref, ...attributes }: PathAttributes) => {
  const { standard, extended, large, ...without } = communityMessages(attributes);
  without satisfies Record<string, never>;
  const pattrs = [attribute({ case: "origin", value: {} }), attribute({ case: "nextHop", value: { nextHop } })];
  if (standard.length > 0) pattrs.push(attribute({ case: "communities", value: { communities: standard } }));
  if (large.length > 0) pattrs.push(attribute({ case: "largeCommunities", value: { communities: large } }));
  if (localPref > 0) pattrs.push(attribute({ case: "localPref", value: { localPref } }));
  if (extended.length > 0) {
    const communities = extended.map((extcom) => create(ExtendedCommunitySchema, { extcom }));
    pattrs.push(attribute({ case: "extendedCommunities", value: { communities } }));
  }
  return toBinary(PathSchema, create(PathSchema, { pattrs }));
});

function attribute(attr: NonNullable<MessageInitShape<typeof AttributeSchema>["attr"]>): Attribute {
  return create(AttributeSchema, { attr });
}

function toAttributes(pattrs: readonly Attribute[]): PathAttributes {
  let [nextHop, localPref] = ["", 0];
  let { standard, extended, large }: ListedCommunities = NO_COMMUNITIES;
  for (const { attr } of pattrs) {
    if (attr.case === "nextHop") nextHop = attr.value.nextHop;
    if (attr.case === "mpReach") nextHop = attr.value.nextHops[0] ?? "";
    if (attr.case === "communities") standard = attr.value.communities;
    if (attr.case === "largeCommunities") large = attr.value.communities;
    if (attr.case === "localPref") localPref = attr.value.localPref;
    if (attr.case === "extendedCommunities") extended = attr.value.communities.map(toExtended);
  }
  return { nextHop, localPref, ...pathCommunities({ standard, extended, large }) };
}

/** null: a message that we do not send. */
function toExtended({ extcom }: ExtendedCommunity): ExtendedMessage | null {
  return extcom.case === undefined ? null : extcom;
}

function toMessage(nlri: Nlri): NLRI {
  if (nlri.kind === "prefix") {
    return create(NLRISchema, { nlri: { case: "prefix", value: { prefix: nlri.address, prefixLen: nlri.length } } });
  }
  return create(NLRISchema, { nlri: { case: "flowSpec", value: { rules: nlri.components.map(toRule) } } });
}

const toRule = cachedByKey((component: Component): FlowSpecRule => {
  const { type } = component;
  if ("items" in component) {
    const items = component.items.map(([op, value]) => ({ op, value: BigInt(value) }));
    return create(FlowSpecRuleSchema, { rule: { case: "component", value: { type, items } } });
  }
  const [prefix = "", prefixLen] = component.prefix.split("/");
  const value = { type, prefix, prefixLen: Number(prefixLen) };
  return create(FlowSpecRuleSchema, { rule: { case: "ipPrefix", value } });
});

/** null: a kind of route that we do not send. */
function toListedName({ nlri, identifier, neighborIp }: Path, family: RouteFamily): ListedName | null {
  const named = nlri === undefined ? null : toNlri(nlri);
  return named === null ? null : { family, nlri: named, identifier, neighborIp };
}

function toNlri({ nlri }: NLRI): Nlri | null {
  if (nlri.case === "prefix") return { kind: "prefix", address: nlri.value.prefix, length: nlri.value.prefixLen };
  if (nlri.case !== "flowSpec") return null;
  const components = nlri.value.rules.map(toComponent);
  return components.every((component) => component !== null) ? { kind: "flowspec", components } : null;
}

function toComponent({ rule }: FlowSpecRule): Component | null {
  switch (rule.case) {
    case "ipPrefix":
      return { type: rule.value.type, prefix: `${rule.value.prefix}/${rule.value.prefixLen}` };
    case "component":
      return { type: rule.value.type, items: rule.value.items.map(({ op, value }) => [op, Number(value)]) };
    default:
      return null;
  }
}
