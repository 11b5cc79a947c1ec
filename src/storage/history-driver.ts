/**
 * The interface of a history database. Two drivers implement it, and one contract suite tests both. A driver may be
 * slow and may fail; the store handles queues, deadlines and counters.
 */

import type { Tenant } from "../access/fair-queue.ts";
import type { AuditEvent, AuditQuery } from "../audit/audit-event.ts";
import type { Attack, EndedAttacksQuery } from "../detection/attack/attack.ts";
import type {
  EdgeEvent,
  EdgeEventsQuery,
  EdgeHistoryPoint,
  EdgeHistoryQuery,
  EdgeSourcesQuery,
  EdgeSourceTotal,
  EdgeWindow,
} from "../edge/reports/edge-history.ts";
import type { TrafficPoint, TrafficQuery, TrafficSnapshot } from "../traffic/traffic-history.ts";
import type { TopPart, TopQuery } from "../traffic/traffic-parts.ts";
import type { PeaksQuery, TrafficPeaks } from "../traffic/traffic-peaks.ts";

/** A record written twice with the same id is kept once, so a write may be repeated if its answer was lost. */
export interface Identified<T> {
  /** Ids of later records sort after earlier ones. */
  readonly id: string;
  readonly record: T;
}

export interface AttackRecord {
  readonly attack: Attack;
  /** Tenant of its hostgroup; null: none. */
  readonly tenant: string | null;
}

export interface RecordsByKind {
  readonly audit: Identified<AuditEvent>;
  readonly attacks: AttackRecord;
  readonly traffic: TrafficSnapshot;
  readonly edge_windows: EdgeWindow;
  readonly edge_events: Identified<EdgeEvent>;
}

export type RecordKind = keyof RecordsByKind;
export const RECORD_KINDS = [
  "audit",
  "attacks",
  "traffic",
  "edge_windows",
  "edge_events",
] as const satisfies readonly RecordKind[];

/** Records of one kind. */
export type HistoryBatch = {
  [K in RecordKind]: { readonly kind: K; readonly records: readonly RecordsByKind[K][] };
}[RecordKind];

/** The queries: name → parameters and result. */
export interface HistoryQueries {
  /** Newest first, at most HISTORY_ROWS_MAX, both ends of the range included. */
  auditEvents(question: AuditQuery): AuditEvent[];
  /** Newest end first. */
  endedAttacks(question: EndedAttacksQuery): Attack[];
  /** null: there is none with this id, or it has not ended. */
  endedAttack(question: { readonly id: string }): Attack | null;
  /** Oldest first; up to but not including the end of the range. */
  trafficPoints(question: TrafficQuery): TrafficPoint[];
  /** Most megabits first; up to but not including the end of the range. */
  trafficTop(question: TopQuery): TopPart[];
  /** Whole UTC days count as far as they are in the range. */
  trafficPeaks(question: PeaksQuery): TrafficPeaks;
  /** Oldest first; up to but not including the end of the range. */
  edgePoints(question: EdgeHistoryQuery): EdgeHistoryPoint[];
  /** Busiest first, at most HISTORY_ROWS_MAX, both ends of the range included. */
  edgeSources(question: EdgeSourcesQuery): EdgeSourceTotal[];
  /** Newest first, at most HISTORY_ROWS_MAX, both ends of the range included. */
  edgeEvents(question: EdgeEventsQuery): EdgeEvent[];
}

export type QueryName = keyof HistoryQueries;
export type HistoryQuery<N extends QueryName> = Parameters<HistoryQueries[N]>[0];
export type AnswerTo<N extends QueryName> = ReturnType<HistoryQueries[N]>;

/** Number of records that later ones replaced, by cause. */
export type GivenUp = Readonly<Record<string, number>>;

/** All methods reject with a StorageFault. */
export interface HistoryDriver {
  /** Whether all brains of a cluster write to the same database. */
  readonly isForAllBrains: boolean;
  /** Opens or reaches the database and migrates its tables. A later call continues what failed. */
  open(): Promise<void>;
  /** Resolves when the records are stored: audit events durably, also after a power loss. All of them or none. */
  write(batch: HistoryBatch): Promise<void>;
  /**
   * Tenants may take turns; absent: no tenant's question. May skip a query that is not wanted any more when its turn comes;
   * absent: it is wanted.
   */
  ask<N extends QueryName>(
    name: N,
    question: HistoryQuery<N>,
    asker?: Tenant,
    isWanted?: () => boolean,
  ): Promise<AnswerTo<N>>;
  /**
   * Regular work: removes what is older than the retention. Called every minute. Resolves with what had no room before
   * that time.
   */
  maintain(nowMs: number): Promise<GivenUp>;
  close(): Promise<void>;
}
