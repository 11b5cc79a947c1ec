/**
 * One record of the audit trail (docs/interface.md#audit-event): who gave a command, and its result. Also the queries
 * on the trail; the storage keeps it.
 */
import { parseAddress } from "../net/address.ts";
import type { Target } from "../net/target.ts";

export const AUDIT_ACTIONS = [
  "ban",
  "unban",
  "config_reload",
  "source_block",
  "source_unblock",
  "edge_challenge",
  "filter_rule",
  "protection",
  "packet_download",
  "incident",
  "notify_test",
  "notify_target",
  "maintenance",
  "hostgroup_settings",
  "shared_link",
  "sign_in",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export const AUDIT_RESULTS = [
  "active",
  "rejected",
  "withdrawn",
  "ok",
  "error",
  "blocked",
  "removed",
  "set",
  "cleared",
] as const;
export type AuditResult = (typeof AUDIT_RESULTS)[number];

/** `prefix`: the target is its first address. */
export const AUDIT_TARGET_TYPES = [
  "host",
  "prefix",
  "source",
  "zone",
  "rule",
  "incident",
  "window",
  "hostgroup",
  "link",
  "user",
  "global",
] as const;
export type AuditTargetType = (typeof AUDIT_TARGET_TYPES)[number];

export const AUDIT_SOURCES = ["api", "auto", "signal"] as const;

/** Texts are empty if there is nothing to record. */
export interface AuditEvent {
  readonly wallMs: number;
  readonly action: AuditAction;
  readonly result: AuditResult;
  /** Name of the caller's token; empty on an open API, and for automatic events. */
  readonly operator: string;
  readonly role: string;
  /** The caller's, not the target's. */
  readonly tenant: string;
  /** An address, `source->victim`, or a zone. */
  readonly target: string;
  readonly targetType: AuditTargetType;
  /** The reason, in the caller's words or in ours. */
  readonly reason: string;
  readonly source: (typeof AUDIT_SOURCES)[number];
  readonly banState: string;
  readonly dryRun: boolean;
}

export interface AuditQuery {
  /** Wall clock, ms; both ends included. */
  readonly range: { readonly fromMs: number; readonly toMs: number };
  readonly filters: AuditFilters;
  /** Only rows of this tenant's callers; null: rows of all callers. */
  readonly tenant: string | null;
}

/** null: any. */
export interface AuditFilters {
  readonly action: AuditAction | null;
  readonly result: AuditResult | null;
  readonly operator: string | null;
  /** The tenant of the caller, beside the tenant that the query is for. */
  readonly tenant: string | null;
  /** Matches the target, or the source or victim of `source->victim`; of a prefix each address and prefix inside it. */
  readonly target: Target | null;
}

export type AuditAnswer =
  | { readonly available: false }
  /** Newest first. */
  | { readonly available: true; readonly events: readonly AuditEvent[] };

export interface AuditTrail {
  /**
   * Resolves when the event is stored, or when storing it was given up after about a second at most, which is counted
   * and logged. Never rejects: an answer waits for its row, and must not fail with it.
   */
  recordAudit(event: AuditEvent): Promise<void>;
}

/** Writes addresses in their canonical form, so that a filter finds them in every spelling. */
export function canonicalTarget(target: string): string {
  return target
    .split("->")
    .map((part) => parseAddress(part) ?? part)
    .join("->");
}
