/** Addresses that no packet on the Internet comes from (RFC 6890, 5771, 1112, 4291). */
import { addressFromBytes, addressToBytes, type IpAddress } from "./address.ts";
import { canonicalPrefix, enclosingPrefix, type Prefix, prefixContains, prefixCovers } from "./prefix.ts";

const SPECIAL = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  // Multicast, reserved, broadcast.
  "224.0.0.0/3",
  "2001:db8::/32",
].map(canonicalPrefix);

/** All that IANA has given out for unicast, and what translates IPv4. */
const GLOBAL_IPV6 = ["2000::/3", "64:ff9b::/96"].map(canonicalPrefix);

/** Neighbors on a link use these: they never come from beyond it, and IPv6 does not work without them. */
const LINK_IPV6 = ["::/128", "fe80::/10"].map(canonicalPrefix);

/** Sources that no packet from beyond the link has; without overlap. */
export function bogons(): readonly Prefix[] {
  const ipv6 = SPECIAL.filter(({ family }) => family === 6);
  return [...SPECIAL.filter(({ family }) => family === 4), ...ipv6, ...outside([...GLOBAL_IPV6, ...LINK_IPV6])];
}

/** The fewest prefixes that contain all of IPv6 but these. */
function outside(excluded: readonly Prefix[], within: Prefix = canonicalPrefix("::/0")): Prefix[] {
  if (excluded.some((prefix) => prefixCovers(prefix, within))) return [];
  if (!excluded.some((prefix) => prefixContains(within, prefix.address))) return [within];
  const bytes = addressToBytes(within.address);
  bytes[within.length >> 3] = (bytes[within.length >> 3] ?? 0) | (0x80 >> (within.length & 7));
  const halves = [within.address, addressFromBytes(bytes)].map((half) => enclosingPrefix(half, within.length + 1));
  return halves.flatMap((half) => outside(excluded, half));
}

export function isSpecialPurpose(ip: IpAddress): boolean {
  if (SPECIAL.some((prefix) => prefixContains(prefix, ip))) return true;
  return ip.includes(":") && !GLOBAL_IPV6.some((prefix) => prefixContains(prefix, ip));
}
