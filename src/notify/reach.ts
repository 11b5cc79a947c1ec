/**
 * Which addresses the targets of tenants may reach: a name is resolved here, its addresses are checked, and the
 * connection goes to these, so that a name that resolves otherwise a moment later leads nowhere else. Without leave no
 * address of this machine, of the service's own infrastructure or of a private network is reached.
 */
import { type IpAddress, parseAddress } from "../net/address.ts";
import { embeddedIpv4, WELL_KNOWN_NAT64 } from "../net/nat64.ts";
import { canonicalPrefix, type Prefix, prefixContains } from "../net/prefix.ts";
import { isSpecialPurpose } from "../net/special-purpose.ts";
import { DeliveryFault } from "./delivery-fault.ts";

export interface Reached {
  readonly address: IpAddress;
  readonly family: 4 | 6;
}

/**
 * Prefixes of IANA's special-purpose registries (RFC 6890) beside isSpecialPurpose(): in which an IPv4 address is
 * embedded that a tunnel or a translator of its own network reaches (RFC 3056, RFC 4380, RFC 7526, RFC 8215), of
 * protocols, and for documentation (RFC 9637).
 */
const NOT_REACHABLE = ["64:ff9b:1::/48", "2002::/16", "192.88.99.0/24", "2001::/23", "3fff::/20"].map(canonicalPrefix);

/** Addresses of a name that are looked at: their number is the tenant's choice too. */
const ADDRESSES_MAX = 16;

/** The addresses of a host that may be reached, at least one. Rejects with a DeliveryFault. */
export type Reach = (host: string) => Promise<readonly Reached[]>;

interface ReachOptions {
  /** All addresses of a name. Rejects if it has none. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  /** The same of the service's own servers. */
  readonly resolveOwn: ReachOptions["resolve"];
  /** Networks that may be reached, whatever is in them. */
  readonly allowed: () => readonly Prefix[];
  /** Prefixes of translators (RFC 6052), beside the well-known one: the IPv4 address within is judged. Absent: none. */
  readonly nat64?: () => readonly Prefix[];
  /** Whether it is an address of this machine, or the configuration has it for the service, its routers and nodes. */
  readonly isOwn: (address: IpAddress) => Promise<boolean>;
  /** Servers of the service that the configuration names: where they are now, no target is. Absent: none. */
  readonly ownNames?: () => readonly string[];
}

/** One text for all: a tenant learns nothing of the names and addresses that this machine sees, or has. */
export const NOT_REACHED =
  "its host is not known, takes no connection, or is at an address that targets of tenants may not reach";

export function reachOf(options: ReachOptions): Reach {
  // The addresses of own servers when they were found last: a resolver that does not answer opens no way to them.
  const known = new Map<string, readonly IpAddress[]>();
  return async (host) => {
    const literal = parseAddress(host.replace(/^\[(.*)\]$/, "$1"));
    const found = literal === null ? await resolved(host, options.resolve) : [literal];
    const servers = await addressesOf(options, known);
    const addresses: IpAddress[] = [];
    for (const address of found.slice(0, ADDRESSES_MAX))
      if (await mayReach(address, servers, options)) addresses.push(address);
    if (addresses.length === 0) throw new DeliveryFault(NOT_REACHED);
    return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  };
}

async function resolved(name: string, resolve: ReachOptions["resolve"]): Promise<IpAddress[]> {
  const texts = await resolve(name).catch(() => []);
  return texts.map(parseAddress).filter((address) => address !== null);
}

async function addressesOf(
  { ownNames, resolveOwn }: ReachOptions,
  known: Map<string, readonly IpAddress[]>,
): Promise<ReadonlySet<IpAddress>> {
  const names = ownNames?.() ?? [];
  for (const name of known.keys()) if (!names.includes(name)) known.delete(name);
  const look = async (name: string) => {
    const found = await resolved(name, resolveOwn);
    if (found.length > 0) known.set(name, found);
    return known.get(name) ?? [];
  };
  return new Set((await Promise.all(names.map(look))).flat());
}

async function mayReach(
  address: IpAddress,
  servers: ReadonlySet<IpAddress>,
  options: Omit<ReachOptions, "resolve" | "resolveOwn">,
): Promise<boolean> {
  const { allowed, isOwn, nat64 } = options;
  if (allowed().some((prefix) => prefixContains(prefix, address))) return true;
  if (servers.has(address) || (await isOwn(address))) return false;
  const embedded = embeddedIpv4(address, [WELL_KNOWN_NAT64, ...(nat64?.() ?? [])]);
  if (embedded.length === 0)
    return !isSpecialPurpose(address) && !NOT_REACHABLE.some((prefix) => prefixContains(prefix, address));
  return (await Promise.all(embedded.map((ipv4) => mayReach(ipv4, servers, options)))).every(Boolean);
}
