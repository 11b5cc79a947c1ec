/** The text formats of the zones file: each function takes a text and returns the rule that it violates, or null. */
import { addressFamily, parseAddress } from "../net/address.ts";

/** Characters of a path that is never challenged. */
const EXEMPT_PATH_CHARACTERS_MAX = 256;

export const ZONES_FORMS = {
  hostname: hostnameRule,
  origin: (text: string) =>
    canonicalOrigin(text) === null ? "must be host:port: origin.example.net:443, or [2001:db8::1]:443 for IPv6" : null,
  httpsUrl: httpsUrlRule,
  urlPath: urlPathRule,
} satisfies Record<string, (text: string) => string | null>;

/**
 * RFC 1123, 2.1: labels of letters, digits and inner hyphens. The last is not a number, since that would be an address.
 */
function isHostname(text: string): boolean {
  if (text.length > 253) return false;
  const labels = text.split(".");
  return labels.every((label) => /^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$/.test(label)) && !/^\d+$/.test(labels.at(-1) ?? "");
}

function hostnameRule(text: string): string | null {
  if (isHostname(text)) return null;
  const rule = "must be a hostname such as www.example.net";
  if (text.startsWith("*.")) return `${rule}: no wildcard, each name is a zone of its own`;
  if (text.endsWith(".") && isHostname(text.slice(0, -1))) return `${rule}: remove the dot at its end`;
  return /\P{ASCII}/u.test(text) ? `${rule}: write an international name in its ASCII form, xn--…` : rule;
}

/** `host:port` with the name in lower case, or the address in its shortest form; null: invalid. */
export function canonicalOrigin(text: string): string | null {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):([1-9]\d{0,4})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 0xffff) return null;
  const [, bracketed, plain = ""] = match;
  if (bracketed === undefined) return isIpv4(plain) || isHostname(plain) ? `${plain.toLowerCase()}:${port}` : null;
  const address = parseAddress(bracketed);
  return address !== null && addressFamily(address) === 6 ? `[${address}]:${port}` : null;
}

function isIpv4(text: string): boolean {
  const address = parseAddress(text);
  return address !== null && addressFamily(address) === 4;
}

/** RFC 8555, 6.1: authorities use HTTPS only. */
function httpsUrlRule(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== "https:") return "must be an https URL: https://ca.example.net/directory";
  return url.username + url.password === "" ? null : "must not hold an account: secrets do not go in this file";
}

function urlPathRule(text: string): string | null {
  const isPath = /^\/[!-~]*$/.test(text) && !/[?#]/.test(text) && text.length <= EXEMPT_PATH_CHARACTERS_MAX;
  if (isPath) return null;
  return `must be the path of a URL: it starts with /, has no query, is ASCII, at most ${EXEMPT_PATH_CHARACTERS_MAX} characters`;
}
