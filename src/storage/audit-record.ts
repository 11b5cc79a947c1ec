/** Audit events as rows of the table `audit`, which is the same in all databases. */
import type { AuditEvent } from "../audit/audit-event.ts";
import { parseAddress } from "../net/address.ts";
import { type Target, targetMatcher } from "../net/target.ts";
import type { Identified } from "./history-driver.ts";

export type AuditRow = Omit<AuditEvent, "wallMs" | "targetType" | "banState" | "dryRun"> & {
  readonly at: number;
  readonly target_type: AuditEvent["targetType"];
  readonly ban_state: string;
  readonly dry_run: number;
};

export function auditRow({ id, record }: Identified<AuditEvent>): AuditRow & { readonly id: string } {
  const { wallMs, action, result, operator, role, tenant, target, targetType, reason, source, banState } = record;
  const who = { operator, role, tenant };
  const what = { target, target_type: targetType, reason, source, ban_state: banState, dry_run: record.dryRun ? 1 : 0 };
  return { id, at: Math.trunc(wallMs), action, result, ...who, ...what };
}

export function auditEventOf(row: AuditRow): AuditEvent {
  const { action, result, operator, role, tenant, target, reason, source } = row;
  const { at: wallMs, target_type: targetType, ban_state: banState } = row;
  const who = { operator, role, tenant };
  return { wallMs, action, result, ...who, target, targetType, reason, source, banState, dryRun: row.dry_run !== 0 };
}

/** Whether the target of a row, or the source or the victim in it, is inside. */
export function auditTargetMatcher(target: Target): (row: Pick<AuditRow, "target">) => boolean {
  const isInside = targetMatcher(target);
  return ({ target: own }) => own.split("->").some((part) => parseAddress(part) !== null && isInside(part));
}
