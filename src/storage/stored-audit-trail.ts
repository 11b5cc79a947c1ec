/** The audit trail over the history store; with storage off it keeps nothing and says so. */
import type { AuditEvent } from "../audit/audit-event.ts";
import type { AuditAnswer, AuditFilters, AuditRange, AuditTrail } from "../audit/audit-trail.ts";
import { parseAddress } from "../net/address.ts";
import type { HistoryStore } from "./history-store.ts";

export class StoredAuditTrail implements AuditTrail {
  readonly #store: Pick<HistoryStore, "recordAudit" | "ask"> | null;

  /** @param store null: storage is off. */
  constructor(store: Pick<HistoryStore, "recordAudit" | "ask"> | null) {
    this.#store = store;
  }

  async record(event: AuditEvent): Promise<void> {
    await this.#store?.recordAudit({ ...event, target: canonicalTarget(event.target) });
  }

  async query(range: AuditRange, filters: AuditFilters, tenant: string | null): Promise<AuditAnswer> {
    if (this.#store === null) return { available: false };
    return { available: true, events: await this.#store.ask("auditEvents", { range, filters, tenant }) };
  }
}

/** Addresses as we write them, whatever the caller's spelling was: so that a filter finds them. */
function canonicalTarget(target: string): string {
  return target
    .split("->")
    .map((part) => parseAddress(part) ?? part)
    .join("->");
}
