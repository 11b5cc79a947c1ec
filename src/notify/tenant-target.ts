/** A target of notifications that a tenant set. Pure. */
import type { TargetRecord } from "../storage/notification-records.ts";
import { EVENT_KINDS, type EventKind, SEVERITIES, type Severity } from "./notify-config.ts";

/** Kinds that tenants may be allowed: those that are reached by HTTP, at a host that can be checked. */
export const TENANT_KINDS = ["webhook", "slack", "teams", "telegram", "pagerduty", "opsgenie", "alertmanager"] as const;
export type TenantKind = (typeof TENANT_KINDS)[number];

export interface TenantTarget extends TargetRecord {
  readonly kind: TenantKind;
  readonly severity?: Severity;
  readonly events?: readonly EventKind[];
}

/** Unique among all targets: a name of the configuration has no slash. */
export function tenantTargetId(tenant: string, name: string): string {
  return `${tenant}/${name}`;
}

/** null: it was set with another build, and this one does not know its words. */
export function tenantTargetOf(record: TargetRecord): TenantTarget | null {
  const { kind, severity = "info", events = [] } = record;
  const isKnown =
    has(TENANT_KINDS, kind) && has(SEVERITIES, severity) && events.every((event) => has(EVENT_KINDS, event));
  return isKnown ? (record as TenantTarget) : null;
}

function has(words: readonly string[], word: string): boolean {
  return words.includes(word);
}
