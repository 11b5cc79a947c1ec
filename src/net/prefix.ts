/** IP prefixes in canonical CIDR form. A prefix never has host bits set. */
import {
  ADDRESS_BYTES,
  addressFamily,
  addressFromBytes,
  addressOrder,
  addressToBytes,
  type IpAddress,
  MAPPED_BITS,
  parseAddress,
  writeAddress,
} from "./address.ts";

export interface Prefix {
  /** Canonical CIDR: equal prefixes have equal texts. */
  readonly text: string;
  /** The first address. */
  readonly address: IpAddress;
  /** 0..32 or 0..128, for the address's own family. */
  readonly length: number;
  readonly family: 4 | 6;
}

const LENGTH = /^(0|[1-9]\d{0,2})$/;

/** `address/length`; null also if host bits are set. */
export function parsePrefix(text: string): Prefix | null {
  const parsed = parseAddressAndLength(text);
  if (parsed === null) return null;
  const prefix = enclosingPrefix(parsed.address, parsed.length);
  return prefix.address === parsed.address ? prefix : null;
}

/** Like parsePrefix, but clears host bits: a suggestion for error texts. */
export function parsePrefixLoosely(text: string): Prefix | null {
  const parsed = parseAddressAndLength(text);
  return parsed === null ? null : enclosingPrefix(parsed.address, parsed.length);
}

function parseAddressAndLength(text: string): { address: IpAddress; length: number } | null {
  const slash = text.indexOf("/");
  if (slash < 0) return null;
  const address = parseAddress(text.slice(0, slash));
  const length = text.slice(slash + 1);
  if (address === null || !LENGTH.test(length) || Number(length) > addressBits(addressFamily(address))) return null;
  return { address, length: Number(length) };
}

/** /32 or /128. */
export function hostPrefix(ip: IpAddress): Prefix {
  return prefixOf(ip, addressBits(addressFamily(ip)));
}

/** The prefix of this length that contains `ip`. */
export function enclosingPrefix(ip: IpAddress, length: number): Prefix {
  if (length === addressBits(addressFamily(ip))) return prefixOf(ip, length);
  const bytes = addressToBytes(ip);
  clearHostBits(bytes, addressFamily(ip) === 4 ? length + MAPPED_BITS : length);
  return prefixOf(addressFromBytes(bytes), length);
}

/** From the text of a Prefix, without checks. */
export function canonicalPrefix(text: string): Prefix {
  const slash = text.indexOf("/");
  return prefixOf(text.slice(0, slash) as IpAddress, Number(text.slice(slash + 1)));
}

function prefixOf(address: IpAddress, length: number): Prefix {
  return { text: `${address}/${length}`, address, length, family: addressFamily(address) };
}

export function addressBits(family: 4 | 6): 32 | 128 {
  return family === 4 ? 32 : 128;
}

/** Approximate above 2^53. */
export function addressesIn({ family, length }: Prefix): number {
  return 2 ** (addressBits(family) - length);
}

/** The length in the 128-bit form, where an IPv4 /24 is 120. */
export function mappedLength(prefix: Prefix): number {
  return prefix.family === 4 ? prefix.length + MAPPED_BITS : prefix.length;
}

export function prefixContains(prefix: Prefix, ip: IpAddress): boolean {
  if (prefix.length === addressBits(prefix.family)) return prefix.address === ip;
  if (prefix.family !== addressFamily(ip)) return false;
  return sameBits(addressToBytes(prefix.address), addressToBytes(ip), mappedLength(prefix));
}

/** Whether all of `inner` lies in `outer`. */
export function prefixCovers(outer: Prefix, inner: Prefix): boolean {
  return outer.length <= inner.length && prefixContains(outer, inner.address);
}

/** Whether the members, which lie in `prefixes`, have all addresses of these, which do not overlap. */
export function areAllTaken(prefixes: readonly Prefix[], members: readonly Prefix[]): boolean {
  const keyed = members.map((prefix) => ({ prefix, key: addressOrder(prefix.address) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.prefix.length - b.prefix.length));
  let outer: Prefix | undefined;
  const outermost = keyed.flatMap(({ prefix }) => {
    if (outer !== undefined && prefixContains(outer, prefix.address)) return [];
    outer = prefix;
    return [prefix];
  });
  const count = (all: readonly Prefix[]) => all.reduce((sum, each) => sum + exactAddressesIn(each), 0n);
  return count(outermost) === count(prefixes);
}

function exactAddressesIn({ family, length }: Prefix): bigint {
  return 1n << BigInt(addressBits(family) - length);
}

/** prefixContains() for many addresses: 0.1 µs each. */
export function prefixMatcher(prefix: Prefix): (ip: IpAddress) => boolean {
  if (prefix.length === addressBits(prefix.family)) return (ip) => ip === prefix.address;
  const [wanted, bits] = [addressToBytes(prefix.address), mappedLength(prefix)];
  const bytes = new Uint8Array(ADDRESS_BYTES);
  return (ip) => {
    if (prefix.family !== addressFamily(ip)) return false;
    writeAddress(ip, bytes.fill(0));
    return sameBits(wanted, bytes, bits);
  };
}

/** Whether an IPv6 prefix overlaps ::ffff:0:0/96, so that a 128-bit table would find IPv4 addresses in it. */
export function coversMappedIpv4(prefix: Prefix): boolean {
  if (prefix.family === 4) return false;
  const mapped = addressToBytes("0.0.0.0" as IpAddress);
  return sameBits(addressToBytes(prefix.address), mapped, Math.min(prefix.length, MAPPED_BITS));
}

function sameBits(a: Uint8Array, b: Uint8Array, bits: number): boolean {
  const wholeBytes = bits >> 3;
  for (let i = 0; i < wholeBytes; i++) if (a[i] !== b[i]) return false;
  const mask = partialByteMask(bits);
  return mask === 0 || ((a[wholeBytes] ?? 0) & mask) === ((b[wholeBytes] ?? 0) & mask);
}

/** Zeroes all bits after the first `bits`. */
export function clearHostBits(bytes: Uint8Array, bits: number): void {
  const at = bits >> 3;
  if (at >= ADDRESS_BYTES) return;
  bytes[at] = (bytes[at] ?? 0) & partialByteMask(bits);
  bytes.fill(0, at + 1);
}

/** Mask of the prefix bits in its last, partial byte. */
function partialByteMask(bits: number): number {
  return (0xff << (8 - (bits & 7))) & 0xff;
}
