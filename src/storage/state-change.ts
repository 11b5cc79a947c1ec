/** The records of the state database, and changes of them as they are sent to the thread that owns the file. */
import type { KeptSession } from "../access/kept-session.ts";
import type { AuditEvent } from "../audit/audit-event.ts";
import type { UnconfirmedRow } from "../cluster/joins/pending-rows.ts";
import type { StampedOrder } from "../cluster/stamped-order.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { Lever } from "../edge/zones/levers.ts";
import type { Incident } from "../incident/incident.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { WindowOrder } from "../mitigation/maintenance/maintenance-windows.ts";
import type { RuleOrder } from "../mitigation/operator/filter-rules.ts";
import type { ProtectionChoice } from "../mitigation/protection/choice.ts";
import type { SourceBlock } from "../sourceblock/source-block.ts";
import type { TargetRecord } from "../targets/tenant-target.ts";
import type { GatheredOrders, KeptNotification, NotifiedProblem } from "./notification-records.ts";

/**
 * By table. The keys: id of a ban or attack, pairName() of a source block, zone of a lever, name of a filter rule, prefix
 * of a protection, id of an incident, name of a maintenance window, id of a target or of what waits for one,
 * stampedName() of an order that brains share, key of a problem that targets know, id of orders that are gathered, of the
 * session of a browser, and of an audit row.
 */
export interface StateRecords {
  readonly bans: Ban;
  readonly attacks: Attack;
  readonly source_blocks: SourceBlock;
  readonly levers: Lever;
  readonly filter_rules: RuleOrder;
  readonly protections: ProtectionChoice;
  readonly incidents: Incident;
  readonly maintenance: WindowOrder;
  readonly cluster_orders: StampedOrder;
  readonly notify_targets: TargetRecord;
  readonly notifications: KeptNotification;
  readonly notified: NotifiedProblem;
  readonly order_notices: GatheredOrders;
  readonly browser_sessions: KeptSession;
  readonly audit_unconfirmed: UnconfirmedRow<{ readonly id: string; readonly event: AuditEvent }>;
}

export type StateTable = keyof StateRecords;

/** Tables whose key is the `id` of their records, read in its order. */
export const TABLES_BY_ID = [
  "notify_targets",
  "notifications",
  "notified",
  "order_notices",
  "browser_sessions",
  "audit_unconfirmed",
] as const satisfies readonly StateTable[];

/** To count by table. */
export function noRows(): Record<StateTable, number> {
  return {
    bans: 0,
    attacks: 0,
    source_blocks: 0,
    levers: 0,
    filter_rules: 0,
    protections: 0,
    incidents: 0,
    maintenance: 0,
    cluster_orders: 0,
    notify_targets: 0,
    notifications: 0,
    notified: 0,
    order_notices: 0,
    browser_sessions: 0,
    audit_unconfirmed: 0,
  };
}

/** `record` null: it is removed. */
export type StateChange = {
  [T in StateTable]: { readonly table: T; readonly key: string; readonly record: StateRecords[T] | null };
}[StateTable];

/** All that an earlier process left. Bans: oldest first. */
export type StoredState = { readonly [T in StateTable]: readonly StateRecords[T][] };
