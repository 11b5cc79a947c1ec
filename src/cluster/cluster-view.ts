/** The view of a brain on its cluster. */
import type { StampedCounts } from "./stamped-orders.ts";

export interface BrainView {
  readonly name: string;
  readonly isUp: boolean;
  /** Wall clock, ms: since when. */
  readonly sinceMs: number;
  /** The same by the monotonic clock: for how long, ms. */
  readonly inStateMs: number;
  /** Since its last message, ms; null: none has arrived since the start. */
  readonly silentMs: number | null;
  /** How far its clock is ahead, ms; null: not measured. */
  readonly skewMs: number | null;
  readonly version: string | null;
  /** Orders that it has not confirmed, and for how long the oldest has waited, ms. */
  readonly unconfirmed: { readonly orders: number; readonly oldestMs: number };
  /** Sections of the configuration that differ; null: not known. */
  readonly differs: readonly string[] | null;
  /** Why there is no connection; null: there is one. */
  readonly problem: string | null;
}

/** An order of another brain that is not in force here. */
interface WaitingOrder {
  readonly table: string;
  readonly key: string;
  readonly brain: string;
  readonly sinceMs: number;
}

/** The abilities that a pair without etcd lacks: stated wherever the cluster is shown. */
export const LACKS = ["acme_slots", "one_notification_in_a_split"] as const;
type Lack = (typeof LACKS)[number];

export interface ClusterView {
  readonly name: string;
  /** Whether this brain does what one of them does: send notifications, for instance. */
  readonly isLeading: boolean;
  readonly brains: readonly BrainView[];
  readonly orders: StampedCounts;
  /** The first of them. */
  readonly waiting: readonly WaitingOrder[];
  readonly lacks: readonly Lack[];
  /** Wall clock, ms, of the end of the own certificate; null: it cannot be read. */
  readonly certificateUntilMs: number | null;
  /** Why this brain cannot be reached; null: it can. */
  readonly fault: string | null;
  /** Why the etcd of the cluster cannot be used; null: it can. Absent: there is none. */
  readonly etcd?: { readonly found: string; readonly remedy: string } | null;
}

export const CLUSTER_FAULTS = [
  "split",
  "clock",
  "lag",
  "configuration",
  "orders",
  "certificate",
  "listen",
  "etcd",
] as const;
type ClusterFaultKind = (typeof CLUSTER_FAULTS)[number];

export interface ClusterFault {
  readonly kind: ClusterFaultKind;
  /** The other brain; this one, if the fault is its own. */
  readonly brain: string;
  readonly found: string;
  readonly remedy: string;
}

export interface ClusterReport extends ClusterView {
  readonly faults: readonly ClusterFault[];
}

/** The state of an order at the other brains. */
export interface OrderKept {
  readonly isShared: boolean;
  /** Brains that have not confirmed it. */
  readonly unconfirmedBy: readonly string[];
}
