/**
 * The communities of a path in GoBGP's messages, which have the same fields in all API versions: each kind in an attribute
 * of its own, marks among the large ones, FlowSpec's rates among the extended ones.
 */
import { addressFamily, parseAddress } from "../../net/address.ts";
import {
  type Community,
  type ExtendedCommunity,
  type ExtendedParts,
  extendedOf,
  ipv4Number,
  ipv4Text,
  isMark,
  type LargeCommunity,
  partsOf,
  sortedCommunities,
} from "../../net/community.ts";
import { markCommunities, marksIn } from "../neighbor-mark.ts";
import type { PathAttributes } from "../speaker/speaker-client.ts";

interface Specific {
  readonly isTransitive: boolean;
  readonly subType: number;
  readonly localAdmin: number;
}

/** An extended community: the name of its message, and its fields. */
export type ExtendedMessage =
  | { readonly case: "trafficRate"; readonly value: { readonly rate: number } }
  | { readonly case: "twoOctetAsSpecific"; readonly value: Specific & { readonly asn: number } }
  | { readonly case: "ipv4AddressSpecific"; readonly value: Specific & { readonly address: string } }
  | { readonly case: "fourOctetAsSpecific"; readonly value: Specific & { readonly asn: number } }
  | { readonly case: "unknown"; readonly value: { readonly type: number; readonly value: Uint8Array } };

interface LargeMessage {
  readonly globalAdmin: number;
  readonly localData1: number;
  readonly localData2: number;
}

interface MessageOf {
  readonly standard: number;
  readonly extended: ExtendedMessage;
  readonly large: LargeMessage;
}

/** By attribute; empty: the path does not have it. */
type CommunityMessages = { readonly [Kind in Community["kind"]]: MessageOf[Kind][] };

/** The same of a path in the speaker; null: an extended community in a message that we do not send. */
export type ListedCommunities = {
  readonly [Kind in Community["kind"]]: readonly (Kind extends "extended" ? ExtendedMessage | null : MessageOf[Kind])[];
};

export const NO_COMMUNITIES: ListedCommunities = { standard: [], extended: [], large: [] };

type PathCommunities = Pick<PathAttributes, "communities" | "marks" | "rates">;

export function communityMessages({ communities, marks, rates }: PathCommunities): CommunityMessages {
  const messages: CommunityMessages = { standard: [], extended: [], large: [] };
  for (const rate of rates) if (rate !== null) messages.extended.push({ case: "trafficRate", value: { rate } });
  for (const community of [...communities, ...markCommunities(marks)]) {
    switch (community.kind) {
      case "standard":
        messages.standard.push(community.value);
        break;
      case "extended":
        messages.extended.push(extendedMessage(community));
        break;
      case "large":
        messages.large.push(largeMessage(community));
        break;
      default:
        community satisfies never;
    }
  }
  return messages;
}

export function pathCommunities(messages: ListedCommunities): PathCommunities {
  const { standard: numbers, extended: extendedMessages, large: largeMessages, ...without } = messages;
  without satisfies Record<string, never>;
  const rates: (number | null)[] = [];
  const extended: ExtendedCommunity[] = [];
  for (const message of extendedMessages) {
    const community = message === null || message.case === "trafficRate" ? null : extendedCommunity(message);
    if (community !== null) extended.push(community);
    else rates.push(message?.case === "trafficRate" ? message.value.rate : null);
  }
  const large = largeMessages.map(
    ({ globalAdmin, localData1, localData2 }): LargeCommunity => ({
      kind: "large",
      administrator: globalAdmin,
      data1: localData1,
      data2: localData2,
    }),
  );
  const standard = numbers.map((value) => ({ kind: "standard", value }) as const);
  const others = large.filter((community) => !isMark(community));
  return { communities: sortedCommunities([...standard, ...extended, ...others]), marks: marksIn(large), rates };
}

function largeMessage({ administrator, data1, data2 }: LargeCommunity): LargeMessage {
  return { globalAdmin: administrator, localData1: data1, localData2: data2 };
}

/** In the message of its form, so that GoBGP's own policies and commands know it, else as its octets. */
function extendedMessage(community: ExtendedCommunity): ExtendedMessage {
  const parts = partsOf(community);
  if (parts === null)
    return { case: "unknown", value: { type: community.type >> 8, value: octetsAfterType(community) } };
  const { administrator, global, local: localAdmin, subtype: subType, isTransitive } = parts;
  const value = { isTransitive, subType, localAdmin };
  switch (administrator) {
    case "two_octet_as":
      return { case: "twoOctetAsSpecific", value: { ...value, asn: global } };
    case "ipv4":
      return { case: "ipv4AddressSpecific", value: { ...value, address: ipv4Text(global) } };
    case "four_octet_as":
      return { case: "fourOctetAsSpecific", value: { ...value, asn: global } };
    default:
      return administrator satisfies never;
  }
}

/** null: not of eight octets. */
function extendedCommunity(message: Exclude<ExtendedMessage, { case: "trafficRate" }>): ExtendedCommunity | null {
  switch (message.case) {
    case "twoOctetAsSpecific":
      return ofParts("two_octet_as", message.value.asn, message.value);
    case "ipv4AddressSpecific": {
      const address = parseAddress(message.value.address);
      const isIpv4 = address !== null && addressFamily(address) === 4;
      return isIpv4 ? ofParts("ipv4", ipv4Number(address), message.value) : null;
    }
    case "fourOctetAsSpecific":
      return ofParts("four_octet_as", message.value.asn, message.value);
    case "unknown":
      return ofOctets(message.value);
    default:
      return message satisfies never;
  }
}

function ofParts(
  administrator: ExtendedParts["administrator"],
  global: number,
  { isTransitive, subType, localAdmin }: Specific,
): ExtendedCommunity {
  return extendedOf({ administrator, global, local: localAdmin, subtype: subType, isTransitive });
}

function ofOctets({ type, value }: { readonly type: number; readonly value: Uint8Array }): ExtendedCommunity | null {
  const octets = Buffer.from(value);
  if (octets.length !== 7) return null;
  return { kind: "extended", type: type * 2 ** 8 + octets.readUInt8(0), value: octets.readUIntBE(1, 6) };
}

/** The subtype and the value. */
function octetsAfterType({ type, value }: ExtendedCommunity): Uint8Array {
  const octets = Buffer.alloc(7);
  octets.writeUInt8(type & 0xff, 0);
  octets.writeUIntBE(value, 1, 6);
  return octets;
}
