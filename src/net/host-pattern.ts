/**
 * Which hosts of URLs are allowed, as the configuration writes them: a name, an address, `*.` and a name for all names below
 * it, or `*`, and a port where it is not that of http or https, or `*` for each.
 */
import { parseAddress } from "./address.ts";

interface HostPattern {
  /** Lower case; addresses without brackets and in their one form. */
  readonly host: string;
  /** null: 80 or 443. */
  readonly port: number | "*" | null;
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };
const WITH_PORT = /^(.*):(\d{1,5}|\*)$/;
const NAME = /^(\*|(\*\.)?[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?)$/;

/** null: it is none. */
export function parseHostPattern(text: string): HostPattern | null {
  const whole = addressOf(text);
  if (whole !== null) return { host: whole, port: null };
  const [, host = text, port] = WITH_PORT.exec(text) ?? [];
  const number = port === undefined ? null : port === "*" ? port : Number(port);
  if (typeof number === "number" && (number < 1 || number > 65_535)) return null;
  const name = addressOf(host) ?? host.toLowerCase();
  return NAME.test(name) || parseAddress(name) !== null ? { host: name, port: number } : null;
}

export function isHostAllowed({ protocol, hostname, port }: URL, patterns: readonly string[]): boolean {
  const name = addressOf(hostname) ?? hostname.toLowerCase();
  const number = port === "" ? DEFAULT_PORTS[protocol] : Number(port);
  return patterns
    .map(parseHostPattern)
    .filter((pattern) => pattern !== null)
    .some(({ host, port: allowed }) => isNamed(name, host) && isPort(number, allowed));
}

function isNamed(name: string, host: string): boolean {
  if (host === "*") return true;
  return host.startsWith("*.") ? name.endsWith(host.slice(1)) && name.length > host.length - 1 : name === host;
}

function isPort(port: number | undefined, allowed: HostPattern["port"]): boolean {
  if (allowed === "*") return true;
  return allowed === null ? port === 80 || port === 443 : port === allowed;
}

function addressOf(text: string): string | null {
  return parseAddress(text.replace(/^\[(.*)\]$/, "$1"));
}
