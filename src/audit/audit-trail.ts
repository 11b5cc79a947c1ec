/** Where audit events go and come from; the storage implements it. */
import type { IpAddress } from "../net/address.ts";
import type { AuditAction, AuditEvent } from "./audit-event.ts";

/** Wall clock, ms; from the first to before the second. */
export interface AuditRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** null: any. */
export interface AuditFilters {
  readonly action: AuditAction | null;
  /** As the target, or as source or victim of `source->victim`. */
  readonly target: IpAddress | null;
}

export type AuditAnswer =
  | { readonly available: false }
  /** Newest first. */
  | { readonly available: true; readonly events: readonly AuditEvent[] };

export interface AuditTrail {
  /**
   * Resolves when the event is stored, or when it was given up after at most about a second, which is counted and logged.
   * Never rejects: a call's answer waits for its row, and must not fail with it.
   */
  record(event: AuditEvent): Promise<void>;
  /** With a tenant, its own callers' rows only. Rejects when the storage fails. */
  query(range: AuditRange, filters: AuditFilters, tenant: string | null): Promise<AuditAnswer>;
}
