/** The records of the state database, and changes of them as they are sent to the thread that owns the file. */
import type { KeptSession } from "../access/kept-session.ts";
import type { AuditEvent } from "../audit/audit-event.ts";
import type { UnconfirmedRow } from "../cluster/joins/pending-rows.ts";
import { type StampedOrder, stampedName } from "../cluster/stamped-order.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { Lever } from "../edge/zones/levers.ts";
import type { Incident } from "../incident/incident.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { WindowOrder } from "../mitigation/maintenance/maintenance-windows.ts";
import type { RuleOrder } from "../mitigation/operator/filter-rules.ts";
import type { ProtectionChoice } from "../mitigation/protection/choice.ts";
import { pairName, type SourceBlock } from "../sourceblock/source-block.ts";
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

/** Columns of each table, those of its primary key first; a record repeats its key, that of brains in two parts. */
export const TABLE_COLUMNS: Readonly<
  Record<StateTable, { readonly keys: readonly string[]; readonly others: readonly string[] }>
> = {
  bans: { keys: ["id"], others: ["started_at", "record"] },
  attacks: { keys: ["id"], others: ["record"] },
  source_blocks: { keys: ["source", "victim"], others: ["record"] },
  levers: { keys: ["zone"], others: ["record"] },
  filter_rules: { keys: ["name"], others: ["record"] },
  protections: { keys: ["prefix"], others: ["record"] },
  incidents: { keys: ["id"], others: ["record"] },
  maintenance: { keys: ["name"], others: ["record"] },
  cluster_orders: { keys: ["name"], others: ["record"] },
  notify_targets: { keys: ["id"], others: ["record"] },
  notifications: { keys: ["id"], others: ["record"] },
  notified: { keys: ["id"], others: ["record"] },
  order_notices: { keys: ["id"], others: ["record"] },
  browser_sessions: { keys: ["id"], others: ["record"] },
  audit_unconfirmed: { keys: ["id"], others: ["record"] },
};
export const TABLE_NAMES = Object.keys(TABLE_COLUMNS) as StateTable[];

/** The key of a record: its column, but where that has two parts. */
export function keyOf<T extends StateTable>(table: T, record: StateRecords[T]): string {
  if (table === "source_blocks") return pairName(record as SourceBlock);
  if (table === "cluster_orders") return stampedName(record as StampedOrder);
  return (record as unknown as Readonly<Record<string, string>>)[TABLE_COLUMNS[table].keys[0] ?? ""] ?? "";
}

/** To count by table. */
export function noRows(): Record<StateTable, number> {
  return Object.fromEntries(TABLE_NAMES.map((table) => [table, 0])) as Record<StateTable, number>;
}

/** `record` null: it is removed. */
export type StateChange = {
  [T in StateTable]: { readonly table: T; readonly key: string; readonly record: StateRecords[T] | null };
}[StateTable];

/** All that an earlier process left. Bans: oldest first. */
export type StoredState = { readonly [T in StateTable]: readonly StateRecords[T][] };
