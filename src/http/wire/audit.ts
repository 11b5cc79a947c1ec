/**
 * The audit trail on the wire (docs/interface.md#audit-event), which has its own time format and a number instead of a
 * boolean.
 */
import { type Static, Type } from "@sinclair/typebox";
import {
  AUDIT_ACTIONS,
  AUDIT_RESULTS,
  AUDIT_SOURCES,
  AUDIT_TARGET_TYPES,
  type AuditEvent,
} from "../../audit/audit-event.ts";
import { closedObject, oneOf } from "../../schema/schema-forms.ts";

export const AuditActionWire = oneOf(...AUDIT_ACTIONS);

export const AuditEventWire = closedObject({
  /** UTC. */
  event_time: Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$" }),
  action: AuditActionWire,
  result: oneOf(...AUDIT_RESULTS),
  operator: Type.String(),
  role: Type.String(),
  tenant: Type.String(),
  target: Type.String(),
  target_type: oneOf(...AUDIT_TARGET_TYPES),
  reason: Type.String(),
  source: oneOf(...AUDIT_SOURCES),
  ban_state: Type.String(),
  dry_run: Type.Union([Type.Literal(0), Type.Literal(1)]),
});
export type AuditEventWire = Static<typeof AuditEventWire>;

export const AuditWire = closedObject({ available: Type.Boolean(), events: Type.Array(AuditEventWire) });
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
