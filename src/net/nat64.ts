/** IPv4 addresses in IPv6 addresses that a translator takes for them (RFC 6052, section 2.2). Pure. */
import { ADDRESS_BYTES, addressFromBytes, addressToBytes, type IpAddress, MAPPED_BITS } from "./address.ts";
import { canonicalPrefix, type Prefix, parsePrefix, prefixContains } from "./prefix.ts";

/** RFC 6052, section 2.1. */
export const WELL_KNOWN_NAT64: Prefix = canonicalPrefix("64:ff9b::/96");
const LENGTHS: readonly number[] = [32, 40, 48, 56, 64, 96];
/** Bits 64 to 71, which are zero. */
const SKIPPED_BYTE = 8;

/** null: not the prefix of a translator. */
export function parseNat64Prefix(text: string): Prefix | null {
  const prefix = parsePrefix(text);
  return prefix?.family === 6 && LENGTHS.includes(prefix.length) ? prefix : null;
}

/** By each of the prefixes that contain the address; none: it is not for a translator. */
export function embeddedIpv4(ip: IpAddress, prefixes: readonly Prefix[]): readonly IpAddress[] {
  return prefixes.filter((prefix) => prefixContains(prefix, ip)).map(({ length }) => embeddedAt(length / 8, ip));
}

function embeddedAt(start: number, ip: IpAddress): IpAddress {
  const places = Array.from({ length: 5 }, (_, i) => start + i).filter((place) => place !== SKIPPED_BYTE);
  const bytes = addressToBytes(ip);
  const mapped = new Uint8Array(ADDRESS_BYTES);
  mapped.fill(0xff, MAPPED_BITS / 8 - 2, MAPPED_BITS / 8);
  for (const [i, place] of places.slice(0, 4).entries()) mapped[MAPPED_BITS / 8 + i] = bytes[place] ?? 0;
  return addressFromBytes(mapped);
}
