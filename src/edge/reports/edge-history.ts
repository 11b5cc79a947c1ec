/**
 * The history of edge nodes' reports (docs/interface.md#edge-history): windows with reported sources, and events;
 * records and queries. The storage keeps them.
 */
import type { IpAddress } from "../../net/address.ts";

/** Summed over nodes in a status; the counters of answer statuses are only in the history. */
export const FLEET_COUNTERS = [
  "requests",
  "decided",
  "denied",
  "challenged",
  "cleared",
  "would_deny",
  "would_challenge",
] as const;
/** The counters of a window, with their names on the wire. */
export const EDGE_COUNTERS = [
  ...FLEET_COUNTERS,
  "status_2xx",
  "status_3xx",
  "status_4xx",
  "status_5xx",
  "h3_requests",
] as const;

export type EdgeCounts = Readonly<Record<(typeof EDGE_COUNTERS)[number], number>>;

/** Strongest first. Sources in other states are not kept. */
export const REPORTED_STATES = ["denied", "challenged", "would-deny", "would-challenge"] as const;
export type ReportedState = (typeof REPORTED_STATES)[number];

/** One closed window of one zone on one node. A later record with the same (zone, node, end) replaces it. */
export interface EdgeWindow {
  readonly node: string;
  readonly zone: string;
  /** End of the window, wall clock, ms. */
  readonly atMs: number;
  readonly seconds: number;
  readonly counts: EdgeCounts;
  readonly sources: readonly EdgeSource[];
}

interface EdgeSource {
  readonly source: IpAddress;
  readonly state: ReportedState;
  readonly requests: number;
}

export const EDGE_EVENT_KINDS = [
  "node_alive",
  "node_lost",
  "version",
  "dry_run",
  "document_rendered",
  "generation_installed",
  "generation_refused",
  "terminator_alive",
  "h3_state",
  "cert_issued",
  "cert_renewed",
  "cert_gone",
  "challenge_started",
  "challenge_ended",
  "clock_skew",
  "report_truncated",
] as const;
export type EdgeEventKind = (typeof EDGE_EVENT_KINDS)[number];

export interface EdgeEvent {
  readonly atMs: number;
  readonly node: string;
  /** null: the event is about the node as a whole. */
  readonly zone: string | null;
  readonly kind: EdgeEventKind;
  readonly detail: string;
}

/** Wall clock, ms. */
interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface EdgeHistoryQuery extends Range {
  readonly zone: string;
  /** null: all nodes. */
  readonly node: string | null;
  /** Buckets start at multiples of it since the epoch. */
  readonly stepSeconds: number;
}

export interface EdgeHistoryPoint {
  /** Start of the bucket, seconds since the epoch. */
  readonly atSeconds: number;
  /** Distinct nodes with a window that ended in the bucket. */
  readonly nodes: number;
  /** The longest observation time of one node: requests / seconds is the rate of the fleet. */
  readonly seconds: number;
  readonly counts: EdgeCounts;
}

export interface EdgeSourcesQuery extends Range {
  readonly zone: string;
  readonly node: string | null;
  /** The strongest state in the range; null: any. */
  readonly state: ReportedState | null;
}

export interface EdgeSourceTotal {
  readonly source: IpAddress;
  /** The strongest in the range. */
  readonly state: ReportedState;
  readonly requests: number;
  readonly windows: number;
  /** Distinct nodes that saw it. */
  readonly nodes: number;
  /** Ends of its first and last window, wall clock, ms. */
  readonly firstMs: number;
  readonly lastMs: number;
}

/** null: any. */
export interface EdgeEventsQuery extends Range {
  readonly node: string | null;
  readonly zone: string | null;
  readonly kind: EdgeEventKind | null;
}
