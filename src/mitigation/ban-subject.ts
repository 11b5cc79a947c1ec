/** What is banned because of an attack. */
import type { Attack } from "../detection/attack/attack.ts";
import { addressBits, canonicalPrefix, hostPrefix, type Prefix } from "../net/prefix.ts";

/** null: a hostgroup as a whole has no prefix to ban; such an attack alerts. */
export function prefixUnderAttack({ target, carpet }: Attack): Prefix | null {
  if (target !== null) return hostPrefix(target);
  return carpet === null ? null : canonicalPrefix(carpet.prefix);
}

export function isOneAddress({ family, length }: Prefix): boolean {
  return length === addressBits(family);
}
