/**
 * BGP communities as values: standard (RFC 1997), extended (RFC 4360) and large ones (RFC 8092). External text must pass
 * parseCommunity(); equal communities have equal texts. Knows nothing of routes or speakers.
 */
import { addressFromBytes, addressToBytes, type IpAddress, MAPPED_BITS, parseAddress } from "./address.ts";

export type Community = StandardCommunity | ExtendedCommunity | LargeCommunity;

interface StandardCommunity {
  readonly kind: "standard";
  /** 32 bits. */
  readonly value: number;
}

export interface ExtendedCommunity {
  readonly kind: "extended";
  /** 16 bits: the type with the bits of RFC 7153, and the subtype. */
  readonly type: number;
  /** 48 bits; see partsOf(). */
  readonly value: number;
}

export interface LargeCommunity {
  readonly kind: "large";
  /** 32 bits each. */
  readonly administrator: number;
  readonly data1: number;
  readonly data2: number;
}

/**
 * "FLWL": the administrator of the large communities by which Floodwall marks routes within its speaker
 * (src/bgp/neighbor-mark.ts). One of an operator would be taken for a mark, and never be sent.
 */
export const MARKS_ADMINISTRATOR = 0x464c574c;

export function isMark(community: Community): boolean {
  return community.kind === "large" && community.administrator === MARKS_ADMINISTRATOR;
}

/** Names from RFC 1997, RFC 3765, RFC 7999 and RFC 8326. */
const WELL_KNOWN: ReadonlyMap<string, number> = new Map([
  ["blackhole", 0xffff029a],
  ["no-export", 0xffffff01],
  ["no-advertise", 0xffffff02],
  ["no-export-subconfed", 0xffffff03],
  ["no-peer", 0xffffff04],
  ["graceful-shutdown", 0xffff0000],
]);

interface Subtype {
  readonly name: string;
  readonly subtype: number;
  /** Whether GoBGP's policies take the name: others cannot be set by neighbor. */
  readonly isInPolicies: boolean;
}

/** Subtypes of extended communities that have a name (RFC 4360, sections 4 and 5). */
const SUBTYPES: readonly Subtype[] = [
  { name: "rt", subtype: 0x02, isInPolicies: true },
  { name: "soo", subtype: 0x03, isInPolicies: true },
];

/** `rt: or soo:`, for error texts and documents: how extended communities begin that policies take. */
export const POLICY_BEGINNINGS = SUBTYPES.filter(({ isInPolicies }) => isInPolicies)
  .map(({ name }) => `${name}:`)
  .join(" or ");

/** Whether the text is of an extended community that policies do not take. */
export function isBeyondPolicies(text: string): boolean {
  if (parseCommunity(text)?.kind !== "extended") return false;
  const [first] = text.toLowerCase().split(":");
  return !SUBTYPES.some(({ name, isInPolicies }) => isInPolicies && name === first);
}

/** The forms that parseCommunity() takes, for error texts and documents. */
export const COMMUNITY_FORMS = [
  `65535:666, or one of ${[...WELL_KNOWN.keys()].join(", ")}`,
  `extended: ${SUBTYPES.map(({ name }) => `${name}:65000:100`).join(" or ")}, each with an AS number or an IPv4 address, or ext: with 16 hexadecimal digits`,
  "large: 4200000000:1:2",
].join("; ");

/** Kinds of the number that an extended community begins with, by its type (RFC 4360, 3.1 and 3.2, RFC 5668). */
const ADMINISTRATORS = ["two_octet_as", "ipv4", "four_octet_as"] as const;
/** The type has this bit set where the community does not leave the AS (RFC 7153). */
const NON_TRANSITIVE = 0x40;

/** How most extended communities are made up. */
export interface ExtendedParts {
  readonly administrator: (typeof ADMINISTRATORS)[number];
  /** An AS number, or an IPv4 address as one. */
  readonly global: number;
  /** 32 bits after an AS number of 16, else 16. */
  readonly local: number;
  readonly subtype: number;
  readonly isTransitive: boolean;
}

const UINT16 = 2 ** 16;
const UINT32 = 2 ** 32;

/**
 * `65535:666`, `no-export`, `rt:65000:100`, `soo:192.0.2.1:100`, `ext:0002fde800000064`, `4200000000:1:2`. null: none of
 * them, or a number too large for its place.
 */
export function parseCommunity(text: string): Community | null {
  const lower = text.toLowerCase();
  const named = WELL_KNOWN.get(lower.replaceAll("_", "-"));
  if (named !== undefined) return { kind: "standard", value: named };
  const [first = "", ...rest] = lower.split(":");
  if (first === "ext") return parseOctets(rest.join(":"));
  const known = SUBTYPES.find(({ name }) => name === first);
  if (known !== undefined) return parseExtended(known.subtype, rest);
  const [a = null, b = null, c, ...more] = lower.split(":").map(parseNumber);
  if (a === null || b === null || c === null || more.length > 0) return null;
  if (c !== undefined) return { kind: "large", administrator: a, data1: b, data2: c };
  return a < UINT16 && b < UINT16 ? { kind: "standard", value: a * UINT16 + b } : null;
}

/** Decimal, without leading zeros, of at most 32 bits. */
function parseNumber(text: string): number | null {
  return /^(0|[1-9]\d{0,9})$/.test(text) && Number(text) < UINT32 ? Number(text) : null;
}

function parseOctets(digits: string): ExtendedCommunity | null {
  if (!/^[0-9a-f]{16}$/.test(digits)) return null;
  const [type, value] = [digits.slice(0, 4), digits.slice(4)];
  return { kind: "extended", type: Number.parseInt(type, 16), value: Number.parseInt(value, 16) };
}

/** As RFC 5668 has it, an AS number that fits into 16 bits goes into the form that leaves 32 for the other number. */
function parseExtended(subtype: number, texts: readonly string[]): ExtendedCommunity | null {
  const [first = "", second = ""] = texts;
  const address = parseAddress(first);
  const global = address === null ? parseNumber(first) : ipv4Number(address);
  const local = parseNumber(second);
  if (texts.length !== 2 || global === null || local === null) return null;
  const asnForm = global < UINT16 ? "two_octet_as" : "four_octet_as";
  const administrator = address === null ? asnForm : "ipv4";
  if (administrator !== "two_octet_as" && local >= UINT16) return null;
  return extendedOf({ administrator, global, local, subtype, isTransitive: true });
}

export function extendedOf({ administrator, global, local, subtype, isTransitive }: ExtendedParts): ExtendedCommunity {
  const type = ADMINISTRATORS.indexOf(administrator) + (isTransitive ? 0 : NON_TRANSITIVE);
  return { kind: "extended", type: type * 2 ** 8 + subtype, value: global * localSize(administrator) + local };
}

/** null: the type is made up in another way. */
export function partsOf({ type, value }: ExtendedCommunity): ExtendedParts | null {
  const isTransitive = ((type >> 8) & NON_TRANSITIVE) === 0;
  const administrator = ADMINISTRATORS[(type >> 8) & ~NON_TRANSITIVE];
  if (administrator === undefined) return null;
  const size = localSize(administrator);
  return { administrator, global: Math.floor(value / size), local: value % size, subtype: type & 0xff, isTransitive };
}

function localSize(administrator: ExtendedParts["administrator"]): number {
  return administrator === "two_octet_as" ? UINT32 : UINT16;
}

/** The ExtendedParts.global of an IPv4 address. */
export function ipv4Number(address: IpAddress): number {
  return new DataView(addressToBytes(address).buffer).getUint32(MAPPED_BITS / 8);
}

/** The address of an ExtendedParts.global. */
export function ipv4Text(number: number): IpAddress {
  const bytes = new Uint8Array(16).fill(0xff, 10, 12);
  new DataView(bytes.buffer).setUint32(MAPPED_BITS / 8, number);
  return addressFromBytes(bytes);
}

/** In a form that parseCommunity() takes; well-known ones as numbers. */
export function communityText(community: Community): string {
  return textOf(community, String);
}

/** GoBGP's policies take AS numbers of 32 bits in extended communities as `64086.59904` only: others become 65535. */
export function policyText(community: Community): string {
  return textOf(community, (asn) => (asn < UINT16 ? String(asn) : `${asn >>> 16}.${asn % UINT16}`));
}

type AsnText = (asn: number) => string;

/** @param asnText how the AS number of an extended community is written */
function textOf(community: Community, asnText: AsnText): string {
  switch (community.kind) {
    case "standard":
      return `${Math.floor(community.value / UINT16)}:${community.value % UINT16}`;
    case "extended":
      return extendedText(community, asnText);
    case "large":
      return `${community.administrator}:${community.data1}:${community.data2}`;
    default:
      return community satisfies never;
  }
}

function extendedText(community: ExtendedCommunity, asnText: AsnText): string {
  const parts = partsOf(community);
  const octets = hex(community.type, 4) + hex(community.value, 12);
  if (parts === null || !parts.isTransitive) return `ext:${octets}`;
  const { administrator, global, local } = parts;
  const name = SUBTYPES.find(({ subtype }) => subtype === parts.subtype)?.name;
  // A small AS number in the form of large ones is another community than what its text would be read as.
  if (name === undefined || (administrator === "four_octet_as" && global < UINT16)) return `ext:${octets}`;
  return `${name}:${administrator === "ipv4" ? ipv4Text(global) : asnText(global)}:${local}`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

/** Joined by spaces, in their order. */
export function communitiesText(communities: readonly Community[]): string {
  return communities.map(communityText).join(" ");
}

/** Each once, in an order that depends on nothing but their values. */
export function sortedCommunities(communities: readonly Community[]): readonly Community[] {
  if (communities.length < 2) return communities;
  const distinct = new Map(communities.map((community) => [communityText(community), community]));
  return [...distinct.values()].sort(compare);
}

function compare(a: Community, b: Community): number {
  const others = numbersOf(b);
  const differences = numbersOf(a).map((number, i) => number - (others[i] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}

/** The kind first, so that only those of one length are compared further. */
function numbersOf(community: Community): readonly number[] {
  switch (community.kind) {
    case "standard":
      return [0, community.value];
    case "extended":
      return [1, community.type, community.value];
    case "large":
      return [2, community.administrator, community.data1, community.data2];
    default:
      return community satisfies never;
  }
}
