/** What a list is searched by: an address, or all addresses of a prefix. */
import { addressFamily, type IpAddress, parseAddress } from "./address.ts";
import { canonicalPrefix, type Prefix, parsePrefixLoosely, prefixContains } from "./prefix.ts";

export type Target = IpAddress | Prefix;

export const TARGET_FORM = "an address or a prefix as 192.0.2.0/24";

/** null: it is neither. */
export function parseTarget(text: string): Target | null {
  return text.includes("/") ? parsePrefixLoosely(text) : parseAddress(text);
}

/**
 * Whether an address or a prefix is inside the target. A prefix is also at each of its own addresses.
 * @param own in canonical form
 */
export function isWithin(own: string, target: Target): boolean {
  const [address, length] = own.split("/") as [IpAddress, string?];
  if (typeof target === "string") {
    return length === undefined ? own === target : prefixContains(canonicalPrefix(own), target);
  }
  if (addressFamily(address) !== target.family || Number(length ?? target.length) < target.length) return false;
  return prefixContains(target, address);
}

/**
 * What the texts of all addresses inside a prefix begin with: a database can leave out others by it before their texts are
 * read. Empty where they have nothing in common, and for IPv6, whose texts are shortened.
 */
export function commonText({ family, address, length }: Prefix): string {
  if (family === 6) return "";
  const octets = address.split(".").slice(0, Math.floor(length / 8));
  return octets.length === 4 ? address : octets.map((octet) => `${octet}.`).join("");
}
