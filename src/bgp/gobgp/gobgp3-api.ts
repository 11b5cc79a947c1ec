/** The API of GoBGP 3.x (package apipb): alternatives in a message are wrapped in Any. */
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
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
  CommunitiesAttributeSchema,
  FlowSpecComponentSchema,
  FlowSpecIPPrefixSchema,
  FourOctetAsSpecificExtendedSchema,
  IPAddressPrefixSchema,
  IPv4AddressSpecificExtendedSchema,
  LargeCommunitiesAttributeSchema,
  LocalPrefAttributeSchema,
  MpReachNLRIAttributeSchema,
  MultiProtocolCapabilitySchema,
  NextHopAttributeSchema,
  OriginAttributeSchema,
  TrafficRateExtendedSchema,
  TwoOctetAsSpecificExtendedSchema,
  UnknownExtendedSchema,
} from "./proto/gobgp_pb.ts";
import {
  type AddPathStreamRequest,
  AddPathStreamRequestSchema,
  CommunityAction_Type,
  Conditions_RouteType,
  DefinedType,
  ExtendedCommunitiesAttributeSchema,
  FlowSpecNLRISchema,
  GobgpApi as Gobgp3Service,
  MatchSet_Type,
  MedAction_Type,
  type Path,
  PathSchema,
  type Peer,
  PeerState_AdminState,
  ResetPeerRequest_SoftResetDirection,
  RouteAction,
  TableLookupPrefix_Type,
  TableType,
} from "./proto/gobgp3_pb.ts";

export const gobgp3Api: GobgpApi<Path, Peer, AddPathStreamRequest> = {
  version: 3,
  name: Gobgp3Service.typeName,
  tables: { global: TableType.GLOBAL, adjOut: TableType.ADJ_OUT },
  exactLookup: TableLookupPrefix_Type.EXACT,
  outward: ResetPeerRequest_SoftResetDirection.OUT,
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
  service: (transport) => createClient(Gobgp3Service, transport),
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
  const own = toBinary(PathSchema, create(PathSchema, { nlri: toAny(nlri), identifier, isWithdraw }));
  const common = encodeFamily(familyNumbers(family));
  return isWithdraw ? [common, own] : [common, own, encodeAttributes(attributes)];
}

const encodeFamily = cachedByKey((family: FamilyNumbers) => toBinary(PathSchema, create(PathSchema, { family })));

function toSpeakerPeer(peer: Peer): SpeakerPeer {
  const capabilities = peer.state?.remoteCap ?? [];
  return speakerPeer(peer, {
    isAdminDown: peer.state?.adminState === PeerState_AdminState.DOWN,
    isOverLimit: peer.state?.adminState === PeerState_AdminState.PFX_CT,
    announced: capabilities.flatMap((capability) => anyUnpack(capability, MultiProtocolCapabilitySchema)?.family ?? []),
  });
}

const encodeAttributes = cachedByKey(({ nextHop, localPref, ...attributes }: PathAttributes) => {
  const { standard, extended, large, ...without } = communityMessages(attributes);
  without satisfies Record<string, never>;
  const pattrs = [pack(OriginAttributeSchema, {}), pack(NextHopAttributeSchema, { nextHop })];
  if (standard.length > 0) pattrs.push(pack(CommunitiesAttributeSchema, { communities: standard }));
  if (large.length > 0) pattrs.push(pack(LargeCommunitiesAttributeSchema, { communities: large }));
  if (localPref > 0) pattrs.push(pack(LocalPrefAttributeSchema, { localPref }));
  if (extended.length > 0) {
    pattrs.push(pack(ExtendedCommunitiesAttributeSchema, { communities: extended.map(packExtended) }));
  }
  return toBinary(PathSchema, create(PathSchema, { pattrs }));
});

function toAttributes(pattrs: readonly Any[]): PathAttributes {
  let [nextHop, localPref] = ["", 0];
  let { standard, extended, large }: ListedCommunities = NO_COMMUNITIES;
  for (const attribute of pattrs) {
    nextHop ||= anyUnpack(attribute, NextHopAttributeSchema)?.nextHop ?? "";
    nextHop ||= anyUnpack(attribute, MpReachNLRIAttributeSchema)?.nextHops[0] ?? "";
    standard = anyUnpack(attribute, CommunitiesAttributeSchema)?.communities ?? standard;
    large = anyUnpack(attribute, LargeCommunitiesAttributeSchema)?.communities ?? large;
    localPref = anyUnpack(attribute, LocalPrefAttributeSchema)?.localPref ?? localPref;
    extended = anyUnpack(attribute, ExtendedCommunitiesAttributeSchema)?.communities.map(unpackExtended) ?? extended;
  }
  return { nextHop, localPref, ...pathCommunities({ standard, extended, large }) };
}

const EXTENDED: Readonly<Record<ExtendedMessage["case"], DescMessage>> = {
  trafficRate: TrafficRateExtendedSchema,
  twoOctetAsSpecific: TwoOctetAsSpecificExtendedSchema,
  ipv4AddressSpecific: IPv4AddressSpecificExtendedSchema,
  fourOctetAsSpecific: FourOctetAsSpecificExtendedSchema,
  unknown: UnknownExtendedSchema,
};

function packExtended({ case: name, value }: ExtendedMessage): Any {
  return pack(EXTENDED[name], { ...value });
}

/** null: a message that we do not send. */
function unpackExtended(community: Any): ExtendedMessage | null {
  for (const [name, schema] of Object.entries(EXTENDED)) {
    const value = anyUnpack(community, schema);
    if (value !== undefined) return { case: name, value } as unknown as ExtendedMessage;
  }
  return null;
}

function toAny(nlri: Nlri): Any {
  if (nlri.kind === "prefix") return pack(IPAddressPrefixSchema, { prefix: nlri.address, prefixLen: nlri.length });
  return pack(FlowSpecNLRISchema, { rules: nlri.components.map(toRule) });
}

const toRule = cachedByKey((component: Component): Any => {
  const { type } = component;
  if ("items" in component) {
    const items = component.items.map(([op, value]) => ({ op, value: BigInt(value) }));
    return pack(FlowSpecComponentSchema, { type, items });
  }
  const [prefix = "", prefixLen] = component.prefix.split("/");
  return pack(FlowSpecIPPrefixSchema, { type, prefix, prefixLen: Number(prefixLen) });
});

/** null: a kind of route that we do not send. */
function toListedName({ nlri, identifier, neighborIp }: Path, family: RouteFamily): ListedName | null {
  const named = nlri === undefined ? null : toNlri(nlri);
  return named === null ? null : { family, nlri: named, identifier, neighborIp };
}

function toNlri(nlri: Any): Nlri | null {
  const prefix = anyUnpack(nlri, IPAddressPrefixSchema);
  if (prefix !== undefined) return { kind: "prefix", address: prefix.prefix, length: prefix.prefixLen };
  const components = anyUnpack(nlri, FlowSpecNLRISchema)?.rules.map(toComponent);
  if (components === undefined || !components.every((component) => component !== null)) return null;
  return { kind: "flowspec", components };
}

function toComponent(rule: Any): Component | null {
  const prefix = anyUnpack(rule, FlowSpecIPPrefixSchema);
  if (prefix !== undefined) return { type: prefix.type, prefix: `${prefix.prefix}/${prefix.prefixLen}` };
  const numbers = anyUnpack(rule, FlowSpecComponentSchema);
  if (numbers === undefined) return null;
  return { type: numbers.type, items: numbers.items.map(({ op, value }) => [op, Number(value)]) };
}

/** Creates a message and packs it with anyPack(). */
function pack<Schema extends DescMessage>(schema: Schema, init: MessageInitShape<Schema>): Any {
  return anyPack(schema, create(schema, init));
}
