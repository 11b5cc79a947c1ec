/**
 * Repeated bans. If packets are counted behind the routers that drop them, a ban hides the attack, so that it seems to
 * end, the ban ends and the attack is detected again. So a ban that shortly follows another one is held for a minimum
 * time, which doubles with each repetition. Pure.
 */
import { ATTACK_ENDED, type Ban, MANUAL_UNBAN, TTL_EXPIRED } from "./ban.ts";
import type { GroupBanConfig } from "./mitigation-config.ts";

type Repetition = Pick<Ban, "repeat" | "holdUntil">;

/** @param last the last ended ban of the same prefix; null: none is known. */
export function repetitionOf(last: Ban | null, config: GroupBanConfig, wallMs: number): Repetition {
  const isRepeated =
    last !== null &&
    // Manual bans, and bans ended by an operator, by a reload or by the loss of all scrub nodes, do not indicate a
    // repetition.
    !last.manual &&
    (last.reason === ATTACK_ENDED || last.reason === TTL_EXPIRED) &&
    endedWithin(last, config.repeatWindowSeconds, wallMs);
  if (!isRepeated) return { repeat: 0, holdUntil: null };
  const repeat = last.repeat + 1;
  const holdSeconds = Math.min(config.repeatHoldMaxSeconds, config.repeatHoldSeconds * 2 ** (repeat - 1));
  return { repeat, holdUntil: wallMs + holdSeconds * 1000 };
}

/** Whether an operator's unban is so recent that no automatic ban may follow yet. */
export function isCoolingDown(last: Ban | null, config: GroupBanConfig, wallMs: number): boolean {
  return last?.reason === MANUAL_UNBAN && endedWithin(last, config.cooldownSeconds, wallMs);
}

/**
 * A ban that ended in the future ended before the wall clock was set back: its age is unknown, and it does not count.
 */
function endedWithin({ withdrawnAt }: Ban, seconds: number, wallMs: number): boolean {
  return withdrawnAt !== null && withdrawnAt <= wallMs && wallMs - withdrawnAt < seconds * 1000;
}
