/**
 * The audit trail on the wire (docs/interface.md#audit-event), which has a time form of its own and a number for a
 * boolean.
 */
import { type Static, Type } from "@sinclair/typebox";
import type { AuditEvent } from "../../audit/audit-event.ts";
import { oneOf } from "./one-of.ts";

export const AuditActionWire = oneOf(
  "ban",
  "unban",
  "config_reload",
  "source_block",
  "source_unblock",
  "edge_challenge",
);

export const AuditEventWire = Type.Object(
  {
    /** UTC. */
    event_time: Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$" }),
    action: AuditActionWire,
    result: oneOf("active", "rejected", "withdrawn", "ok", "error", "blocked", "removed", "set", "cleared"),
    operator: Type.String(),
    role: Type.String(),
    tenant: Type.String(),
    target: Type.String(),
    target_type: oneOf("host", "prefix", "source", "zone", "global"),
    reason: Type.String(),
    source: oneOf("api", "auto", "signal"),
    ban_state: Type.String(),
    dry_run: Type.Union([Type.Literal(0), Type.Literal(1)]),
  },
  { additionalProperties: false },
);
export type AuditEventWire = Static<typeof AuditEventWire>;

export const AuditWire = Type.Object(
  { available: Type.Boolean(), events: Type.Array(AuditEventWire) },
  { additionalProperties: false },
);
export type AuditWire = Static<typeof AuditWire>;

export function auditEventToWire(event: AuditEvent): AuditEventWire {
  return {
    event_time: new Date(event.wallMs).toISOString().slice(0, 19).replace("T", " "),
    action: event.action,
    result: event.result,
    operator: event.operator,
    role: event.role,
    tenant: event.tenant,
    target: event.target,
    target_type: event.targetType,
    reason: event.reason,
    source: event.source,
    ban_state: event.banState,
    dry_run: event.dryRun ? 1 : 0,
  };
}
