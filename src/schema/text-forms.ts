/** The text formats of files and commands: each function takes a text and returns the rule that it violates, or null. */

import { PATTERN_BYTES_MAX } from "../native/constants.ts";
import { addressFamily, type IpAddress, parseAddress } from "../net/address.ts";
import { COMMUNITY_FORMS, isMark, MARKS_ADMINISTRATOR, parseCommunity } from "../net/community.ts";
import { parseHostPattern } from "../net/host-pattern.ts";
import { parseNat64Prefix } from "../net/nat64.ts";
import { hostPrefix, type Prefix, parsePrefix, parsePrefixLoosely } from "../net/prefix.ts";
import type { Range } from "../net/range.ts";
import { isTimeZone } from "./time-zone.ts";
import { ZONES_FORMS } from "./zone-forms.ts";

export const TEXT_FORMS = {
  prefix: prefixRule,
  addressOrPrefix: (text: string) => (text.includes("/") ? prefixRule(text) : addressRule(text)),
  address: addressRule,
  ipv4: (text: string) => familyRule(text, 4),
  ipv6: (text: string) => familyRule(text, 6),
  community: communityRule,
  grpcTarget: (text: string) =>
    text.startsWith("/") || parseHostPort(text) !== null
      ? null
      : "must be the path of a socket, or host:port: /run/gobgpd/gobgp.sock",
  listen: listenRule,
  socketAddress: (text: string) =>
    parseListen(text) === null ? "must be an address and a port: 192.0.2.1:179, or [2001:db8::1]:179 for IPv6" : null,
  interfaceName: (text: string) =>
    /^[^\s/:]{1,15}$/.test(text) && text !== "." && text !== ".."
      ? null
      : "must be the name of a network interface: 1 to 15 characters without spaces, slashes or colons",
  macAddress: (text: string) =>
    /^[0-9a-f][02468ace](:[0-9a-f]{2}){5}$/i.test(text)
      ? null
      : "must be the MAC address of one interface: 02:00:5e:10:00:01",
  groupName: nameRule,
  tenantName: nameRule,
  tokenName: nameRule,
  nodeName: nameRule,
  neighborName: nameRule,
  policyName: nameRule,
  redirectTarget: redirectRule,
  hopName: nameRule,
  description: descriptionRule,
  profileName: nameRule,
  prefixSetName: nameRule,
  countryCode: (text: string) =>
    /^[A-Z]{2}$/.test(text) ? null : "must be the two capital letters of a country (ISO 3166-1): DE",
  portRange: (text: string) =>
    parsePortRange(text) === null ? "must be a port or a range of ports: 443, or 27000-27050" : null,
  exporterName: nameRule,
  siteName: nameRule,
  interfacePattern: (text: string) =>
    isInterfacePattern(text)
      ? null
      : "must be the number of an interface, a range of numbers, or a name with * for any characters: 17, 10-19, or et-0/0/*",
  ruleName: nameRule,
  setName: nameRule,
  range32: (text: string) => rangeRule(text, 32),
  range128: (text: string) => rangeRule(text, 128),
  range255: (text: string) => rangeRule(text, 255),
  range65535: (text: string) => rangeRule(text, 65_535),
  sha256: (text: string) =>
    /^[0-9a-fA-F]{64}$/.test(text) ? null : "must be a SHA-256 in 64 hexadecimal digits, as sha256sum prints it",
  hexBytes: (text: string) =>
    parseHexBytes(text) === null
      ? `must be 1 to ${PATTERN_BYTES_MAX} bytes, each two hexadecimal digits: ffffffff 54`
      : null,
  variableName: (text: string) =>
    /^[A-Za-z_][A-Za-z0-9_]*$/.test(text)
      ? null
      : "must be the name of an environment variable: the secret itself does not go in this file",
  absolutePath: (text: string) =>
    text.startsWith("/") && !text.includes("\0") ? null : "must be an absolute path: it starts with /",
  httpUrl: httpUrlRule,
  httpServer: httpServerRule,
  etcdPrefix: (text: string) =>
    /^\/([A-Za-z0-9._-]{1,63}\/){1,4}$/.test(text)
      ? null
      : "must be names of letters, digits, dots, dashes or underscores between slashes, with a slash at both ends: /floodwall/",
  etcdUser: (text: string) =>
    /^[A-Za-z0-9._@-]{1,63}$/.test(text) ? null : "must be 1 to 63 letters, digits, dots, dashes, underscores or @",
  issuerUrl: issuerRule,
  publicUrl: publicUrlRule,
  claimName: descriptionRule,
  clientName: descriptionRule,
  providerName: descriptionRule,
  scopeName: (text: string) =>
    /^[!#-[\]-~]{1,100}$/.test(text)
      ? null
      : "must be the name of a scope: visible ASCII without spaces, quotes or backslashes",
  databaseName: (text: string) =>
    /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(text)
      ? null
      : "must be 1 to 63 letters, digits or underscores, the first no digit",
  targetName: nameRule,
  hostPattern: (text: string) =>
    parseHostPattern(text) !== null
      ? null
      : "must be a host, *. and a name for all names below it, or * for each, and a port if it is not 80 or 443: hooks.example.net:8443",
  nat64Prefix: (text: string) =>
    parseNat64Prefix(text) === null ? "must be an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits (RFC 6052)" : null,
  partOfDay: (text: string) =>
    parsePartOfDay(text) === null ? "must be a part of the day, to the minute: 22:00-06:00" : null,
  timeZone: (text: string) => (isTimeZone(text) ? null : "must be a time zone of the IANA database: Europe/Berlin"),
  mailAddress: (text: string) =>
    /^[^\s@<>,;"]+@[^\s@<>,;"]+$/.test(text) ? null : "must be a mail address: noc@example.net",
  ...ZONES_FORMS,
  path: (text: string) => (text !== "" && !text.includes("\0") ? null : "must be the path of a file"),
} satisfies Record<string, (text: string) => string | null>;

/** Minutes since midnight; null: not of this form. */
export function parsePartOfDay(text: string): { readonly from: number; readonly to: number } | null {
  const match = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (match === null) return null;
  const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = match.slice(1).map(Number);
  return { from: 60 * fromHour + fromMinute, to: 60 * toHour + toMinute };
}

export type TextForm = keyof typeof TEXT_FORMS;

/** For people, on a line of its own. */
const DESCRIPTION_CHARACTERS_MAX = 200;

function descriptionRule(text: string): string | null {
  const isShown = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u.test(text);
  return isShown && Array.from(text).length <= DESCRIPTION_CHARACTERS_MAX
    ? null
    : `must be 1 to ${DESCRIPTION_CHARACTERS_MAX} characters on one line`;
}

function nameRule(text: string): string | null {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(text)) return null;
  return "must be 1 to 63 letters, digits, dots, dashes or underscores, the first a letter or digit";
}

function prefixRule(text: string): string | null {
  if (parsePrefix(text) !== null) return null;
  const meant = parsePrefixLoosely(text);
  if (meant !== null) return `${text} has host bits set: write ${meant.text}`;
  const address = parseAddress(text);
  if (address !== null) return `must be a CIDR: for this address alone write ${hostPrefix(address).text}`;
  return `must be a CIDR such as 192.0.2.0/24 or 2001:db8::/32${mappedHint(text)}`;
}

function addressRule(text: string): string | null {
  if (parseAddress(text) !== null) return null;
  return `must be an IP address such as 192.0.2.1 or 2001:db8::1${mappedHint(text)}`;
}

function mappedHint(text: string): string {
  return /^[0:]*:ffff:/i.test(text) ? ": write an IPv4-mapped address in its IPv4 form" : "";
}

function familyRule(text: string, family: 4 | 6): string | null {
  const address = parseAddress(text);
  const rule = `must be an IPv${family} address such as ${family === 4 ? "192.0.2.1" : "2001:db8::1"}`;
  if (address === null || addressFamily(address) !== family) return rule;
  return isUnspecified(address) ? `${rule}: ${address} names no host` : null;
}

function isUnspecified(address: IpAddress): boolean {
  return address === "0.0.0.0" || address === "::";
}

function httpUrlRule(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol))
    return "must be a URL: http://host:port/path, or https";
  return url.username + url.password === "" ? null : "must not hold an account: secrets do not go in this file";
}

/** Options in a path or query that the client library reads would override our own. */
function httpServerRule(text: string): string | null {
  const rule = httpUrlRule(text);
  if (rule !== null) return rule;
  const { pathname, search, hash } = new URL(text);
  return pathname + search + hash === "/" ? null : "must be a server alone: http://host:port, or https";
}

/** OpenID Connect Discovery 1.0: no query and no fragment. */
function issuerRule(text: string): string | null {
  const rule = httpUrlRule(text) ?? plainHttpRule(text);
  if (rule !== null) return rule;
  const { search, hash } = new URL(text);
  if (text.includes("/.well-known/")) return "must be the issuer alone: leave out /.well-known/ and what follows";
  return search + hash === "" && !/[?#]/.test(text) ? null : "must be the issuer alone, without ? and #";
}

function publicUrlRule(text: string): string | null {
  const rule = httpUrlRule(text) ?? plainHttpRule(text);
  if (rule !== null) return rule;
  const { origin } = new URL(text);
  return text === origin ? null : `must be scheme, host and port alone, as browsers write them: ${origin}`;
}

/** Plain traffic can be read and changed on the way. */
function plainHttpRule(text: string): string | null {
  const { protocol, hostname } = new URL(text);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return protocol === "https:" || host === "localhost" || isLoopback(host as IpAddress)
    ? null
    : "must be https: plain http is for localhost and loopback addresses alone";
}

function redirectRule(text: string): string | null {
  const isTarget = text.toLowerCase().startsWith("rt:") && parseCommunity(text) !== null;
  const hop = parseAddress(text);
  const isHop = hop !== null && addressFamily(hop) === 4 && !isUnspecified(hop);
  return isTarget || isHop ? null : "must be a route target such as rt:65000:100, or an IPv4 address";
}

function communityRule(text: string): string | null {
  const community = parseCommunity(text);
  if (community === null) return `must be a community: ${COMMUNITY_FORMS}`;
  if (!isMark(community)) return null;
  return `must not begin with ${MARKS_ADMINISTRATOR}: by such large communities Floodwall knows the routes that a neighbor is not to get, and sends none of them`;
}

/** `443`, or `27000-27050`. */
export function parsePortRange(text: string): Range | null {
  const range = parseRange(text);
  return range !== null && range.to <= 0xffff ? range : null;
}

/** `5`, or `1-5`. */
export function parseRange(text: string): Range | null {
  const ends = /^(0|[1-9]\d{0,4})(?:-(0|[1-9]\d{0,4}))?$/.exec(text);
  if (ends === null) return null;
  const from = Number(ends[1]);
  const to = Number(ends[2] ?? ends[1]);
  return from <= to ? { from, to } : null;
}

function rangeRule(text: string, most: number): string | null {
  const range = parseRange(text);
  return range !== null && range.to <= most ? null : `must be a number up to ${most}, or a range of such: 5, or 1-5`;
}

/** `ffffffff 54`: digits in pairs, with or without spaces. */
export function parseHexBytes(text: string): number[] | null {
  const digits = text.replaceAll(" ", "");
  const isWhole = /^(?:[0-9a-fA-F]{2})+$/.test(digits) && digits.length <= 2 * PATTERN_BYTES_MAX;
  return isWhole ? [...Buffer.from(digits, "hex")] : null;
}

/** An interface of a router (ifIndex or ifName), whose names have spaces and slashes: `Ethernet 1/2`. */
function isInterfacePattern(text: string): boolean {
  const range = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(text);
  if (range === null) return /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/.test(text) && !/^\d+-/.test(text);
  const [from, to] = [Number(range[1]), Number(range[2] ?? range[1])];
  return from <= to && to <= 0xffff_ffff;
}

export function parseAddressOrPrefix(text: string): Prefix | null {
  const address = parseAddress(text);
  return address === null ? parsePrefix(text) : hostPrefix(address);
}

/** `host:port`; IPv6 in brackets. The host is a name or an address; the port may be 0. */
function parseHostPort(text: string): { readonly host: string; readonly port: number } | null {
  const match = /^(?:\[([^\]]+)\]|([A-Za-z0-9._-]+)):(0|[1-9]\d{0,4})$/.exec(text);
  if (match === null || Number(match[3]) > 0xffff) return null;
  const [, bracketed, plain = ""] = match;
  if (bracketed === undefined) return { host: plain, port: Number(match[3]) };
  const address = parseAddress(bracketed);
  return address !== null && addressFamily(address) === 6 ? { host: address, port: Number(match[3]) } : null;
}

/** The host of a URL or of `host:port`, without the brackets of IPv6; null: it is neither. */
export function hostOf(text: string): string | null {
  if (!text.includes("://")) return parseHostPort(text)?.host ?? null;
  return URL.canParse(text) ? new URL(text).hostname.replace(/^\[(.*)\]$/, "$1") : null;
}

/** An address to listen on. `localhost` means 127.0.0.1, since the address of a name may change. */
export function parseListen(text: string): { readonly host: IpAddress; readonly port: number } | null {
  const target = parseHostPort(text);
  const host = target && parseAddress(target.host === "localhost" ? "127.0.0.1" : target.host);
  return target === null || host === null ? null : { host, port: target.port };
}

function listenRule(text: string): string | null {
  return parseListen(text) === null ? "must be an address and a port: 127.0.0.1:8080, or [::1]:8080 for IPv6" : null;
}

export function isLoopback(host: IpAddress): boolean {
  return host === "::1" || host.startsWith("127.");
}
