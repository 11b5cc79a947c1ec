/**
 * From the clock of the service to that of this node: until when a ban of a document holds here. The service's expiries are
 * wall time of another machine, and this one's wall clock may be wrong, or be set. Pure.
 */
import { BAN_SECONDS_MAX } from "../../limits.ts";
import type { HeldBan } from "./enforcement.ts";
import type { WantedBan } from "./rule-document.ts";

/** Less is what the header's whole seconds and the way take. */
const SKEW_MS = 2000;
/** In the middle of the second that the header names. */
const HALF_SECOND_MS = 500;
const LONGEST_MS = BAN_SECONDS_MAX * 1000;

/** By how much the service's clock is ahead of ours, ms; 0: they agree, or it did not say. */
export function aheadMs(sentAtMs: number | null, nowMs: number): number {
  if (sentAtMs === null) return 0;
  const ahead = sentAtMs + HALF_SECOND_MS - nowMs;
  return Math.abs(ahead) > SKEW_MS ? ahead : 0;
}

export interface HoldingClocks {
  readonly wallMs: number;
  readonly monotonicMs: number;
  readonly aheadMs: number;
}

export function heldBans(
  bans: readonly WantedBan[],
  { wallMs, monotonicMs, aheadMs: ahead }: HoldingClocks,
): HeldBan[] {
  return bans.map(({ expiresAtMs, ...ban }) => ({
    ...ban,
    expiresAtMs: monotonicMs + Math.min(expiresAtMs - (wallMs + ahead), LONGEST_MS),
  }));
}

/**
 * The same from the disk, after a time that only the wall clock knows of, which may have been set meanwhile: no ban holds
 * longer than it had left when it was saved.
 */
export function heldBansOf(
  bans: readonly WantedBan[],
  saved: { readonly atMs: number; readonly aheadMs: number },
  now: { readonly wallMs: number; readonly monotonicMs: number },
): HeldBan[] {
  const wallMs = Math.max(now.wallMs, saved.atMs);
  return heldBans(bans, { wallMs, monotonicMs: now.monotonicMs, aheadMs: saved.aheadMs });
}
