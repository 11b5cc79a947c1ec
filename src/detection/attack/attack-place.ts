/** Where to search for packets of an attack: a host, a prefix, or all networks of a hostgroup. Pure. */
import { addressToBytes, type IpAddress } from "../../net/address.ts";
import { canonicalPrefix, hostPrefix, mappedLength, type Prefix, prefixContains } from "../../net/prefix.ts";
import type { Attack } from "./attack.ts";

export interface AttackPlace {
  /** `192.0.2.7`, `192.0.2.0/24`, or `hostgroup web`. */
  readonly name: string;
  /** The first `bits` bits of all its addresses, in 16 bytes; other addresses may begin with them too. */
  readonly address: Uint8Array;
  readonly bits: number;
  readonly holds: (ip: IpAddress) => boolean;
}

export interface Groups {
  /** null: in no configured network. */
  readonly groupOf: (ip: IpAddress) => string | null;
  /** Empty: no such hostgroup. Returns the same list until the configuration changes. */
  readonly networksOf: (group: string) => readonly Prefix[];
}

export function placeOf({ target, carpet, group }: Attack, { groupOf, networksOf }: Groups): AttackPlace {
  if (target !== null) return inPrefix(target, hostPrefix(target));
  if (carpet !== null) return inPrefix(carpet.prefix, canonicalPrefix(carpet.prefix));
  return { name: `hostgroup ${group}`, ...enclosing(networksOf(group)), holds: (ip) => groupOf(ip) === group };
}

function inPrefix(name: string, prefix: Prefix): AttackPlace {
  const holds = (ip: IpAddress) => prefixContains(prefix, ip);
  return { name, address: addressToBytes(prefix.address), bits: mappedLength(prefix), holds };
}

type Bits = Pick<AttackPlace, "address" | "bits">;

const ANYWHERE: Bits = { address: new Uint8Array(16), bits: 0 };

/** Cached: a hostgroup may have thousands of networks. */
const ENCLOSING = new WeakMap<readonly Prefix[], Bits>();

/** The longest common prefix of the networks. */
function enclosing(networks: readonly Prefix[]): Bits {
  const [first] = networks;
  if (first === undefined) return ANYWHERE;
  const known = ENCLOSING.get(networks);
  if (known !== undefined) return known;
  const address = addressToBytes(first.address);
  let bits = mappedLength(first);
  for (const network of networks) {
    bits = Math.min(bits, mappedLength(network), bitsInCommon(address, addressToBytes(network.address)));
  }
  const found = { address, bits };
  ENCLOSING.set(networks, found);
  return found;
}

function bitsInCommon(a: Uint8Array, b: Uint8Array): number {
  const byte = a.findIndex((value, i) => value !== b[i]);
  return byte < 0 ? 128 : 8 * byte + Math.clz32((a[byte] as number) ^ (b[byte] as number)) - 24;
}
