/**
 * IP addresses as canonical text: equal addresses are equal strings. External text must pass parseAddress; the addon
 * uses the 16-byte form (IPv4 as ::ffff:a.b.c.d).
 */
import ipaddr from "ipaddr.js";

declare const brand: unique symbol;

/** Dotted decimal, or IPv6 in the form of RFC 5952. */
export type IpAddress = string & { readonly [brand]: "IpAddress" };

export const ADDRESS_BYTES = 16;
/** Bits before the IPv4 part of the mapped form. */
export const MAPPED_BITS = 96;
const MAPPED_BYTES = MAPPED_BITS / 8;

const IPV4 = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/;
/** Hex groups and colons only: no zone identifier, no dotted tail (ipaddr.js would take both). */
const IPV6_CHARACTERS = /^[0-9a-fA-F:]{2,39}$/;

/** Strict: no leading zeros in IPv4, no short forms, zone identifiers, IPv4-mapped addresses or prefix lengths. */
export function parseAddress(text: string): IpAddress | null {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): IpAddress | null {
  const match = IPV4.exec(text);
  if (match === null) return null;
  for (let i = 1; i <= 4; i++) if (Number(match[i]) > 255) return null;
  return text as IpAddress;
}

function parseIpv6(text: string): IpAddress | null {
  if (!IPV6_CHARACTERS.test(text) || !ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? null : (address.toRFC5952String() as IpAddress);
}

export function addressFamily(ip: IpAddress): 4 | 6 {
  return ip.includes(":") ? 6 : 4;
}

/** 16 bytes, freshly allocated; IPv4 in its mapped form. */
export function addressToBytes(ip: IpAddress): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(ADDRESS_BYTES);
  writeAddress(ip, bytes);
  return bytes;
}

/** The same into 16 zero bytes of the caller's. */
export function writeAddress(ip: IpAddress, bytes: Uint8Array): void {
  if (addressFamily(ip) === 6) writeIpv6(ip, bytes);
  else writeMappedIpv4(ip, bytes);
}

function writeMappedIpv4(ip: IpAddress, bytes: Uint8Array): void {
  bytes[10] = 0xff;
  bytes[11] = 0xff;
  let at = MAPPED_BYTES;
  let octet = 0;
  for (let i = 0; i < ip.length; i++) {
    const code = ip.charCodeAt(i);
    if (code === 0x2e) {
      bytes[at++] = octet;
      octet = 0;
    } else octet = octet * 10 + code - 0x30;
  }
  bytes[at] = octet;
}

/** Takes canonical text only, so that it needs no checks. */
function writeIpv6(ip: IpAddress, bytes: Uint8Array): void {
  const gap = ip.indexOf("::");
  const head = gap < 0 ? ip : ip.slice(0, gap);
  const tail = gap < 0 ? "" : ip.slice(gap + 2);
  writeGroups(head, bytes, 0);
  if (tail !== "") writeGroups(tail, bytes, ADDRESS_BYTES - 2 * tail.split(":").length);
}

function writeGroups(text: string, bytes: Uint8Array, offset: number): void {
  if (text === "") return;
  let at = offset;
  for (const group of text.split(":")) {
    const value = Number.parseInt(group, 16);
    bytes[at++] = value >> 8;
    bytes[at++] = value & 0xff;
  }
}

/** The address in the 16 bytes at `offset`. Hand-written for speed: called for every row of a tick. */
export function addressFromBytes(bytes: Uint8Array, offset = 0): IpAddress {
  return (isMappedAt(bytes, offset) ? ipv4Text(bytes, offset + MAPPED_BYTES) : ipv6Text(bytes, offset)) as IpAddress;
}

/** Whether the 16 bytes there are an IPv4 address in its mapped form. */
export function isMappedAt(bytes: Uint8Array, offset: number): boolean {
  if (bytes[offset + 10] !== 0xff || bytes[offset + 11] !== 0xff) return false;
  for (let i = 0; i < 10; i++) if (bytes[offset + i] !== 0) return false;
  return true;
}

function ipv4Text(bytes: Uint8Array, at: number): string {
  return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`;
}

/** RFC 5952: the longest run of two or more zero groups becomes `::`, the first of equals. */
function ipv6Text(bytes: Uint8Array, offset: number): string {
  let runStart = -1;
  let runLength = 1;
  for (let i = 0; i < 8; ) {
    let end = i;
    while (end < 8 && group(bytes, offset, end) === 0) end++;
    if (end - i > runLength) {
      runStart = i;
      runLength = end - i;
    }
    i = end + 1;
  }
  if (runStart < 0) return groupsText(bytes, offset, 0, 8);
  return `${groupsText(bytes, offset, 0, runStart)}::${groupsText(bytes, offset, runStart + runLength, 8)}`;
}

function groupsText(bytes: Uint8Array, offset: number, from: number, to: number): string {
  let text = "";
  for (let i = from; i < to; i++) text += (i > from ? ":" : "") + group(bytes, offset, i).toString(16);
  return text;
}

function group(bytes: Uint8Array, offset: number, index: number): number {
  const at = offset + index * 2;
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

/** A string for sorting: IPv4 first, then by number. */
export function addressOrder(ip: IpAddress): string {
  const bytes = addressToBytes(ip);
  let order = String(addressFamily(ip));
  for (let i = 0; i < ADDRESS_BYTES; i += 2) order += String.fromCharCode(((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0));
  return order;
}
