/** The address or prefix that is banned because of an attack. */
import type { Attack } from "../detection/attack/attack.ts";
import { addressBits, canonicalPrefix, hostPrefix, type Prefix } from "../net/prefix.ts";

/** The prefix to ban. null: an attack on a whole hostgroup has none, and only alerts. */
export function prefixUnderAttack({ target, carpet }: Attack): Prefix | null {
  if (target !== null) return hostPrefix(target);
  return carpet === null ? null : canonicalPrefix(carpet.prefix);
}

export function isOneAddress({ family, length }: Prefix): boolean {
  return length === addressBits(family);
}
