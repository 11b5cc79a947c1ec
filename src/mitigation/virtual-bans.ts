/** Which bans are virtual: by the dry run of all, of a hostgroup and a direction, and of an order. Pure. */
import type { Attack } from "../detection/attack/attack.ts";
import type { Prefix } from "../net/prefix.ts";
import { unbannableFor } from "./admission.ts";
import type { Ban } from "./ban.ts";
import { areBanned, type MitigationPolicy } from "./policy.ts";

type DryRuns = Pick<MitigationPolicy, "isDryRun" | "isWatched">;

/** @param attacks those that keep it in force: it is real as soon as one of them is not in dry run, also by hand. */
export function isVirtual(ban: Ban, attacks: readonly Attack[], policy: DryRuns): boolean {
  if (ban.isVirtualOrder === true) return true;
  const isLive = attacks.some(({ direction }) => !policy.isDryRun(ban.prefix, direction));
  if (ban.manual) return !isLive && policy.isDryRun(ban.prefix, "incoming");
  if (policy.isWatched(ban.prefix)) return true;
  if (attacks.length > 0) return !isLive;
  // It outlasts its attack, whose direction is not kept.
  const [incoming, outgoing] = [policy.isDryRun(ban.prefix, "incoming"), policy.isDryRun(ban.prefix, "outgoing")];
  return incoming === outgoing ? incoming : ban.dryRun;
}

/** Whether a new ban is virtual. @param attack null: an operator orders it. */
export function isVirtualAtFirst(prefix: Prefix, attack: Attack | null, policy: DryRuns): boolean {
  if (attack === null) return policy.isDryRun(prefix, "incoming");
  return policy.isWatched(prefix) || policy.isDryRun(prefix, attack.direction);
}

/**
 * The attack that needs in earnest a ban that was ordered in dry run, where attacks may be banned; null: none does.
 * @param isExcluded whether an operator ended a ban of the attack
 */
export function takingOver(
  ban: Ban,
  attacks: readonly Attack[],
  policy: MitigationPolicy,
  isExcluded: (attackId: string) => boolean,
): Attack | null {
  const { isVirtualOrder, prefix } = ban;
  if (isVirtualOrder !== true || policy.isWatched(prefix)) return null;
  if (!areBanned(policy, prefix) || unbannableFor(prefix, policy) !== null) return null;
  const isNeeding = ({ id, direction, calmSinceMs }: Attack) =>
    calmSinceMs === null && !isExcluded(id) && !policy.isDryRun(prefix, direction);
  return attacks.find(isNeeding) ?? null;
}
