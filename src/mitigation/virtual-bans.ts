/** Which bans are virtual: by the dry run of all, of a hostgroup and a direction, and of an order. Pure. */
import type { Attack } from "../detection/attack/attack.ts";
import type { Ban } from "./ban.ts";
import type { MitigationPolicy } from "./policy.ts";

type DryRuns = Pick<MitigationPolicy, "isDryRun">;

/** @param attacks those that keep it in force: it is real as soon as one of them is not in dry run. */
export function isVirtual(ban: Ban, attacks: readonly Attack[], policy: DryRuns): boolean {
  if (ban.isVirtualOrder === true) return true;
  if (ban.manual) return policy.isDryRun(ban.prefix, "incoming");
  if (attacks.length > 0) return attacks.every(({ direction }) => policy.isDryRun(ban.prefix, direction));
  // It outlasts its attack, whose direction is not kept.
  const [incoming, outgoing] = [policy.isDryRun(ban.prefix, "incoming"), policy.isDryRun(ban.prefix, "outgoing")];
  return incoming === outgoing ? incoming : ban.dryRun;
}

/** Whether an attack needs in earnest a ban that was ordered in dry run. */
export function isNeeded({ isVirtualOrder, prefix }: Ban, attacks: readonly Attack[], policy: DryRuns): boolean {
  return isVirtualOrder === true && attacks.some(({ direction }) => !policy.isDryRun(prefix, direction));
}
