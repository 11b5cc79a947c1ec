/**
 * Which brain does what must happen once, where nothing but the connections decides: the one with the lowest name that is up
 * (docs/operations/pair.md). In a split each side has one. Pure; times are those of the own monotonic clock, ms.
 */

export interface LeasePeer {
  readonly name: string;
  readonly isUp: boolean;
  /** Since when it is up, or is not. */
  readonly sinceMs: number;
  /** Time of the last message; null: there was none since the start. */
  readonly receivedMs: number | null;
}

/** The part of a brain that is gone is another one's after this time. */
export const LEASE_MS = 15_000;
/** A brain that has received nothing of a peer for this time was perhaps frozen itself, and its peer has taken over. */
export const RECEIVED_MS = 3000;

/**
 * @param startedMs when this brain began to look for the others.
 */
export function holdsPairLease(
  own: string,
  peers: readonly LeasePeer[],
  { nowMs, startedMs }: { readonly nowMs: number; readonly startedMs: number },
): boolean {
  // Until it has a message of each of them, or long enough none, another one may hold.
  const isKnown = (peer: LeasePeer) => peer.isUp || nowMs - Math.max(peer.sinceMs, startedMs) >= RECEIVED_MS;
  const isCurrent = (peer: LeasePeer) => !peer.isUp || nowMs - (peer.receivedMs ?? peer.sinceMs) < RECEIVED_MS;
  if (!peers.every((peer) => isKnown(peer) && isCurrent(peer))) return false;
  return peers.every(({ name, isUp, sinceMs }) => name > own || (!isUp && nowMs - sinceMs >= LEASE_MS));
}
