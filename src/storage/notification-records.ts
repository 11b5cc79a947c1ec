/** Notifications that wait, as they are kept. */

/** One that waits for one target. */
export interface KeptNotification {
  /** Unique: of the event and the target. */
  readonly id: string;
  readonly target: string;
  /** The tenant of the event; null: of none. */
  readonly tenant: string | null;
  /** Wall clock, ms. */
  readonly sinceMs: number;
  readonly event: EventRecord;
}

/** Its attack and its ban are records as in the tables of these. */
export interface EventRecord {
  readonly event: object;
  readonly attack?: string;
  readonly ban?: string;
}

/** A problem that has not ended, and the targets that know of it. */
export interface NotifiedProblem {
  /** Its key: events of one problem have the same. */
  readonly id: string;
  /** The tenant of the begin; null: of none. */
  readonly tenant: string | null;
  /** With the time when each got the last event, wall clock, ms. */
  readonly targets: readonly (readonly [target: string, atMs: number])[];
  /** Targets for which it began in a quiet time. */
  readonly quiet: readonly string[];
  /** Absent: an earlier build wrote it, and where it has no target, it is not known who got the begin. */
  readonly isDecided?: boolean;
  /** The event of its begin; absent: of an attack or a ban, which have tables of their own. */
  readonly begin?: EventRecord;
}

/** Changes of orders that one notification will say. */
export interface GatheredOrders {
  readonly id: string;
  readonly first: object;
  readonly targets: readonly string[];
  readonly count: number;
}
