/**
 * What a database must do to keep the history: two drivers do it, one contract suite holds them to it. A driver may be
 * slow and may fail; queues, deadlines and counters are the store's matter.
 */

import type { AuditEvent, AuditQuestion } from "../audit/audit-event.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type {
  EdgeEvent,
  EdgeEventsQuestion,
  EdgeHistoryPoint,
  EdgeHistoryQuestion,
  EdgeSourcesQuestion,
  EdgeSourceTotal,
  EdgeWindow,
} from "../edge/edge-history.ts";
import type { TrafficPoint, TrafficQuestion, TrafficSnapshot } from "../traffic/traffic-history.ts";

/** What is written twice under one id is kept once: a write whose answer was lost may be tried again. */
export interface Identified<T> {
  /** Ids of later records sort behind. */
  readonly id: string;
  readonly record: T;
}

export interface AttackRecord {
  readonly attack: Attack;
  /** Of its hostgroup; null: none. */
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

/** What can be asked: name → the question and its answer. */
export interface Questions {
  /** Newest first, at most HISTORY_ROWS_MAX, both ends of the range included. */
  auditEvents(question: AuditQuestion): AuditEvent[];
  /** Newest end first. */
  endedAttacks(question: { readonly limit: number }): Attack[];
  /** null: there is none of this id, or it is not over. */
  endedAttack(question: { readonly id: string }): Attack | null;
  /** Oldest first; up to but not including the end of the range. */
  trafficPoints(question: TrafficQuestion): TrafficPoint[];
  /** Oldest first; up to but not including the end of the range. */
  edgePoints(question: EdgeHistoryQuestion): EdgeHistoryPoint[];
  /** Busiest first, at most HISTORY_ROWS_MAX, both ends of the range included. */
  edgeSources(question: EdgeSourcesQuestion): EdgeSourceTotal[];
  /** Newest first, at most HISTORY_ROWS_MAX, both ends of the range included. */
  edgeEvents(question: EdgeEventsQuestion): EdgeEvent[];
}

export type QuestionName = keyof Questions;
export type Question<N extends QuestionName> = Parameters<Questions[N]>[0];
export type AnswerTo<N extends QuestionName> = ReturnType<Questions[N]>;

/** All methods reject with a StorageFault. */
export interface HistoryDriver {
  /** Opens or reaches the database and brings its tables up to date. Called again, it does what is left to do of that. */
  open(): Promise<void>;
  /** Resolves when the records are kept: audit events also through a loss of power. All of them or none. */
  write(batch: HistoryBatch): Promise<void>;
  /** Need not ask what is wanted no more when its turn comes. Absent: it is. */
  ask<N extends QuestionName>(name: N, question: Question<N>, isWanted?: () => boolean): Promise<AnswerTo<N>>;
  /** What has to be done now and then: removes what is older than it may be. Called every minute. */
  maintain(nowMs: number): Promise<void>;
  close(): Promise<void>;
}
