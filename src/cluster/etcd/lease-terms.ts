/** The times of a lease, which its holder and those who wait for it must agree on. */
import type { Clock } from "../../system/clock.ts";

/** Longer than the slowest election of etcd, about two seconds, several times over. */
export const LEASE_SECONDS = 15;
/** The difference that the clocks of two machines may have within a lease: 1 % and some. */
const MARGIN_MS = 500;

/** A moment on both clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/**
 * Whether a lease that was requested at `asked`, and lasts `seconds` from some later moment on, certainly lasts at `now`.
 * The monotonic clock stands still while a virtual machine is suspended: of both clocks the one that went further counts.
 */
export function isWithin(asked: Moment, seconds: number, now: Moment): boolean {
  const goneMs = Math.max(now.monotonicMs - asked.monotonicMs, now.wallMs - asked.wallMs);
  return goneMs < seconds * 1000 - MARGIN_MS;
}
