/** One record of the audit trail (docs/interface.md#audit-event): who ordered what, and what became of it. */

export type AuditAction = "ban" | "unban" | "config_reload" | "source_block" | "source_unblock" | "edge_challenge";

export type AuditResult =
  | "active"
  | "rejected"
  | "withdrawn"
  | "ok"
  | "error"
  | "blocked"
  | "removed"
  | "set"
  | "cleared";

/** `prefix`: the target is its first address. */
export type AuditTargetType = "host" | "prefix" | "source" | "zone" | "global";

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
  readonly source: "api" | "auto" | "signal";
  readonly banState: string;
  readonly dryRun: boolean;
}
