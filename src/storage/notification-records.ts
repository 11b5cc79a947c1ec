/** Notifications that wait, as they are kept. */

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
