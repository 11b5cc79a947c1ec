/** Which lease counts in a cluster with an etcd: that of etcd, and what the connections show while no brain reaches it. Pure. */
import type { Lease } from "../lease.ts";
import type { PeerState } from "../peers.ts";

/** Without etcd for this long brains go by what they see of each other. */
export const FALLBACK_MS = 30_000;

interface LeasesOfBrain {
  readonly etcd: Lease;
  /** Since etcd answered this brain last, or since the start, ms. */
  readonly silenceMs: number;
  readonly pair: Lease;
  readonly peers: readonly Pick<PeerState, "isUp" | "hasEtcd">[];
}

/** A brain that alone does not reach etcd holds nothing: another one has the lease, or will have it. */
export function holdsWithFallback({ etcd, silenceMs, pair, peers }: LeasesOfBrain): boolean {
  if (silenceMs < FALLBACK_MS) return etcd.holds();
  return !peers.some(({ isUp, hasEtcd }) => isUp && hasEtcd === true) && pair.holds();
}
