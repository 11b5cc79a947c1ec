/** What is kept of notifications: those that wait, and the targets that tenants set. */

/** One that waits for one target. */
export interface KeptNotification {
  /** Unique: of the event and the target. */
  readonly id: string;
  readonly target: string;
  /** Of the event; null: of none. */
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

/** A target as a tenant set it; the reader knows its kinds. */
export interface TargetRecord {
  /** Unique: of the tenant and the name. */
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly kind: string;
  /** Secrets among them. Absent: the kind has none, or its default. */
  readonly url?: string;
  readonly secret?: string;
  readonly chatId?: string;
  /** At least; absent: each. */
  readonly severity?: string;
  /** Absent: all but those of orders. */
  readonly events?: readonly string[];
  readonly operator: string;
  /** Wall clock, ms. */
  readonly setAt: number;
}
