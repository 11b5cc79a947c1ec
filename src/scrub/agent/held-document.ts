/**
 * Converts expiries of a document from the service's clock to that of this node. The service's expiries are wall time
 * of another machine, and this machine's wall clock may be wrong, or be set. Pure.
 */
import type { Now } from "../../system/now.ts";
import type { HeldBan } from "./enforcement.ts";
import type { WantedBan } from "./rule-document.ts";

/** A smaller difference is caused by the header's whole seconds and by latency. */
const SKEW_MS = 2000;
/** The middle of the second in the header. */
const HALF_SECOND_MS = 500;

/** By how much the service's clock is ahead of this one, ms; 0: equal or unknown. */
export function aheadMs(sentAtMs: number | null, nowMs: number): number {
  if (sentAtMs === null) return 0;
  const ahead = sentAtMs + HALF_SECOND_MS - nowMs;
  return Math.abs(ahead) > SKEW_MS ? ahead : 0;
}

interface HoldingClocks {
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
    expiresAtMs: monotonicMs + expiresAtMs - (wallMs + ahead),
  }));
}

/**
 * The same for a document from the disk. Only the wall clock measures the time since it was saved, and it may have been
 * set: so no ban lasts longer than its remaining time when saved.
 */
export function heldBansOf(
  bans: readonly WantedBan[],
  saved: { readonly atMs: number; readonly aheadMs: number },
  now: Now,
): HeldBan[] {
  const wallMs = Math.max(now.wallMs, saved.atMs);
  return heldBans(bans, { wallMs, monotonicMs: now.monotonicMs, aheadMs: saved.aheadMs });
}
