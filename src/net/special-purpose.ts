/** Addresses that no packet on the Internet comes from (RFC 6890, 5771, 1112, 4291). */
import type { IpAddress } from "./address.ts";
import { canonicalPrefix, prefixContains } from "./prefix.ts";

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

export function isSpecialPurpose(ip: IpAddress): boolean {
  if (SPECIAL.some((prefix) => prefixContains(prefix, ip))) return true;
  return ip.includes(":") && !GLOBAL_IPV6.some((prefix) => prefixContains(prefix, ip));
}
