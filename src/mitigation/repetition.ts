/**
 * Bans that follow each other. Where packets are counted behind the routers that drop them, the victim's traffic vanishes
 * with its ban, the attack seems over, the ban ends and all begins anew: so a ban that follows another shortly holds for a
 * while, each time twice as long. Pure.
 */
import type { GroupBanConfig } from "../config/sections/mitigation.ts";
import { ATTACK_ENDED, type Ban, MANUAL_UNBAN, TTL_EXPIRED } from "./ban.ts";

export type Repetition = Pick<Ban, "repeat" | "holdUntil">;

/** @param last the ban of the same prefix that ended last; null: none is known. */
export function repetitionOf(last: Ban | null, config: GroupBanConfig, wallMs: number): Repetition {
  const isRepeated =
    last !== null &&
    // An order, and what people or a reload ended, or the loss of all scrub nodes, say nothing of how an attack goes on.
    !last.manual &&
    (last.reason === ATTACK_ENDED || last.reason === TTL_EXPIRED) &&
    endedWithin(last, config.repeatWindowSeconds, wallMs);
  if (!isRepeated) return { repeat: 0, holdUntil: null };
  const repeat = last.repeat + 1;
  const holdSeconds = Math.min(config.repeatHoldMaxSeconds, config.repeatHoldSeconds * 2 ** (repeat - 1));
  return { repeat, holdUntil: wallMs + holdSeconds * 1000 };
}

/** Whether an operator's unban is so recent that no automatic ban takes its place yet. */
export function isCoolingDown(last: Ban | null, config: GroupBanConfig, wallMs: number): boolean {
  return last?.reason === MANUAL_UNBAN && endedWithin(last, config.cooldownSeconds, wallMs);
}

/** A ban that ends in the future ended before the wall clock was set back: how long ago is not known, and forgotten. */
function endedWithin({ withdrawnAt }: Ban, seconds: number, wallMs: number): boolean {
  return withdrawnAt !== null && withdrawnAt <= wallMs && wallMs - withdrawnAt < seconds * 1000;
}
