/** IP prefixes in canonical CIDR form. A prefix never has host bits set. */
import {
  ADDRESS_BYTES,
  addressFamily,
  addressFromBytes,
  addressToBytes,
  type IpAddress,
  MAPPED_BITS,
  parseAddress,
} from "./address.ts";

export interface Prefix {
  /** Canonical CIDR: equal prefixes have equal texts. */
  readonly text: string;
  /** The first address. */
  readonly address: IpAddress;
  /** 0..32 or 0..128, of the address family's own form. */
  readonly length: number;
  readonly family: 4 | 6;
}

const LENGTH = /^(0|[1-9]\d{0,2})$/;

/** `address/length`; null also where host bits are set. */
export function parsePrefix(text: string): Prefix | null {
  const parsed = parseAddressAndLength(text);
  if (parsed === null) return null;
  const prefix = enclosingPrefix(parsed.address, parsed.length);
  return prefix.address === parsed.address ? prefix : null;
}

/** As parsePrefix, but clears host bits: what the writer most likely meant, to be named in an error. */
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

/** The prefix of this length that `ip` lies in. */
export function enclosingPrefix(ip: IpAddress, length: number): Prefix {
  const bytes = addressToBytes(ip);
  clearHostBits(bytes, addressFamily(ip) === 4 ? length + MAPPED_BITS : length);
  return prefixOf(addressFromBytes(bytes), length);
}

/** From the text of a Prefix, which is not looked at again. */
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

/** The length in the 128-bit form, where an IPv4 /24 is 120. */
export function mappedLength(prefix: Prefix): number {
  return prefix.family === 4 ? prefix.length + MAPPED_BITS : prefix.length;
}

export function prefixContains(prefix: Prefix, ip: IpAddress): boolean {
  if (prefix.family !== addressFamily(ip)) return false;
  return sameBits(addressToBytes(prefix.address), addressToBytes(ip), mappedLength(prefix));
}

export function prefixesOverlap(a: Prefix, b: Prefix): boolean {
  return a.length <= b.length ? prefixContains(a, b.address) : prefixContains(b, a.address);
}

/** Whether an IPv6 prefix holds ::ffff:0:0/96 or a part of it: a table of the 128-bit form would find IPv4 in it. */
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

/** The bits that a prefix keeps of the byte in which it ends. */
function partialByteMask(bits: number): number {
  return (0xff << (8 - (bits & 7))) & 0xff;
}
