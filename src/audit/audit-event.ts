/**
 * One record of the audit trail (docs/interface.md#audit-event): who ordered what, and what became of it. And what the trail
 * is asked; the storage keeps it.
 */
import { type IpAddress, parseAddress } from "../net/address.ts";

export const AUDIT_ACTIONS = [
  "ban",
  "unban",
  "config_reload",
  "source_block",
  "source_unblock",
  "edge_challenge",
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
export const AUDIT_TARGET_TYPES = ["host", "prefix", "source", "zone", "global"] as const;
export type AuditTargetType = (typeof AUDIT_TARGET_TYPES)[number];

export const AUDIT_SOURCES = ["api", "auto", "signal"] as const;

/** Texts are empty where there is nothing to say. */
export interface AuditEvent {
  readonly wallMs: number;
  readonly action: AuditAction;
  readonly result: AuditResult;
  /** Name of the caller's token; empty on an open API, and where nobody called. */
  readonly operator: string;
  readonly role: string;
  /** The caller's, not the target's. */
  readonly tenant: string;
  /** An address, `source->victim`, or a zone. */
  readonly target: string;
  readonly targetType: AuditTargetType;
  /** Why, in the caller's words or in ours. */
  readonly reason: string;
  readonly source: (typeof AUDIT_SOURCES)[number];
  readonly banState: string;
  readonly dryRun: boolean;
}

export interface AuditQuestion {
  /** Wall clock, ms; both ends included. */
  readonly range: { readonly fromMs: number; readonly toMs: number };
  readonly filters: AuditFilters;
  /** Its own callers' rows only; null: the rows of all callers. */
  readonly tenant: string | null;
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
  recordAudit(event: AuditEvent): Promise<void>;
}

/** Addresses as we write them, whatever the caller's spelling was: so that a filter finds them. */
export function canonicalTarget(target: string): string {
  return target
    .split("->")
    .map((part) => parseAddress(part) ?? part)
    .join("->");
}
