/** What is banned because of an attack. */
import type { Attack } from "../detection/attack.ts";
import { hostPrefix, type Prefix } from "../net/prefix.ts";

/** null: a hostgroup as a whole has no prefix to ban; such an attack alerts. */
export function prefixUnderAttack({ target }: Attack): Prefix | null {
  return target === null ? null : hostPrefix(target);
}
