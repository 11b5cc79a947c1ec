/** The audit trail of the running service: rows of callers, and of what happens without one. */
import type { AuditEvent, AuditTrail } from "../audit/audit-event.ts";
import type { HistoryStore } from "../storage/history-store.ts";

/** A row of an automatic ban, and what the ban is about: equal at all brains that have the ban. */
interface AutomaticRow {
  readonly event: AuditEvent;
  /** An earlier process began the ban. */
  readonly isRestored: boolean;
  /** Called once brains have agreed on the ids of attacks. */
  readonly subject: () => string;
}

export interface ServiceTrail extends AuditTrail {
  recordAutomatic(row: AutomaticRow): void;
}

/** The trail that several brains have together. */
interface SharedTrail {
  readonly joins: { trailOf(history: HistoryStore): ServiceTrail };
}

/** null: storage is off. */
export function auditTrailOf(history: HistoryStore | null, cluster: SharedTrail | null): ServiceTrail | null {
  if (history === null) return null;
  if (cluster !== null) return cluster.joins.trailOf(history);
  return {
    recordAudit: (event) => history.recordAudit(event),
    recordAutomatic: ({ event }) => void history.recordAudit(event),
  };
}
