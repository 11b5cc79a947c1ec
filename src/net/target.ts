/** The key by which a list is searched: an address, or all addresses of a prefix. */
import { type IpAddress, parseAddress } from "./address.ts";
import { canonicalPrefix, type Prefix, parsePrefixLoosely, prefixContains, prefixMatcher } from "./prefix.ts";

export type Target = IpAddress | Prefix;

export const TARGET_FORM = "an address or a prefix as 192.0.2.0/24";

/** null: it is neither. */
export function parseTarget(text: string): Target | null {
  return text.includes("/") ? parsePrefixLoosely(text) : parseAddress(text);
}

/**
 * Whether an address or a prefix, in canonical form, is inside the target. A prefix is also at each of its own
 * addresses.
 */
export function targetMatcher(target: Target): (own: string) => boolean {
  if (typeof target === "string") {
    return (own) => own === target || (own.includes("/") && prefixContains(canonicalPrefix(own), target));
  }
  const isInside = prefixMatcher(target);
  return (own) => {
    const slash = own.indexOf("/");
    if (slash < 0) return isInside(own as IpAddress);
    return Number(own.slice(slash + 1)) >= target.length && isInside(own.slice(0, slash) as IpAddress);
  };
}

/**
 * The beginning of the texts of all addresses inside a prefix: a database can leave out others by it before their texts
 * are read. Empty where they have nothing in common, and for IPv6, whose texts are shortened.
 */
export function commonText({ family, address, length }: Prefix): string {
  if (family === 6) return "";
  const octets = address.split(".").slice(0, Math.floor(length / 8));
  return octets.length === 4 ? address : octets.map((octet) => `${octet}.`).join("");
}
