/** The audit trail: query, table and CSV export. Pure. */
import { reasonAlone, wholeTarget } from "../../src/audit/whole-target.ts";
import type { AuditEventWire } from "../../src/http/wire/audit.ts";
import { formFor, t } from "../language.ts";
import { csvText } from "./format/csv.ts";
import { capital } from "./format/words.ts";
import { ROLES, wordOf } from "./interface-words.ts";
import { said } from "./service-words.ts";
import { rangeQuery, type TimeSpan } from "./time-span.ts";

export const AUDIT_ACTIONS: Readonly<Record<AuditEventWire["action"], string>> = {
  ban: capital(formFor(1, "ban|bans")),
  unban: t`Unban`,
  config_reload: t`Reload`,
  source_block: t`Source block`,
  source_unblock: t`Source unblock`,
  edge_challenge: t`Edge challenge`,
  filter_rule: t`Filter rule`,
  protection: t`Protection`,
  packet_download: t`Packet download`,
  incident: t`Incident`,
  shared_link: t`Shared link`,
  sign_in: t`Sign-in`,
  notify_test: t`Test of a notification`,
  notify_target: t`Target of notifications of a tenant`,
  maintenance: t`Maintenance window`,
  hostgroup_settings: t`Hostgroup settings`,
};

export const AUDIT_RESULTS: Readonly<Record<AuditEventWire["result"], string>> = {
  active: t`active`,
  withdrawn: t`withdrawn`,
  ok: t`ok`,
  blocked: t`blocked`,
  removed: t`removed`,
  set: t`set`,
  cleared: t`cleared`,
  rejected: t`rejected`,
  error: t`error`,
};

/** As in the query of the page's address. */
export interface AuditFilters {
  readonly action: AuditEventWire["action"] | null;
  readonly target: string | null;
  readonly span: TimeSpan;
}

export function auditPath({ action, target, span }: AuditFilters, nowMs: number): string {
  const others = { ...(action !== null && { action }), ...(target !== null && { target }) };
  return `/api/v1/audit?${rangeQuery(span, nowMs, others)}`;
}

export function actionOf(text: string | null): AuditEventWire["action"] | null {
  return text !== null && Object.hasOwn(AUDIT_ACTIONS, text) ? (text as AuditEventWire["action"]) : null;
}

/** The input's time is in UTC but does not say so. */
export function eventMs({ event_time: time }: AuditEventWire): number {
  return Date.parse(`${time.replace(" ", "T")}Z`);
}

export function auditTarget({ target, target_type: type, reason }: AuditEventWire): string {
  return wholeTarget(target, type, reason).replace("->", " → ");
}

/** Beside its target. */
export function auditReason({ target, target_type: type, reason }: AuditEventWire): string {
  return said(reasonAlone(target, type, reason));
}

/** The operator, as far as it is known. */
export function actorText({ operator, role, tenant, source }: AuditEventWire): string {
  if (source === "auto") return t`detection`;
  if (source === "signal") return t`signal`;
  const name = operator === "" ? t`no sign-in` : operator;
  return `${name}${role === "" ? "" : ` (${wordOf(ROLES, role)}${tenant === "" ? "" : `, ${tenant}`})`}`;
}

const CSV_COLUMNS = [
  "event_time",
  "action",
  "result",
  "operator",
  "role",
  "tenant",
  "target",
  "target_type",
  "reason",
  "source",
  "ban_state",
  "dry_run",
] as const satisfies readonly (keyof AuditEventWire)[];

/**
 * Uses the names and values of the API: times in UTC, and 1 for a dry run.
 * @param isCut whether there may be older rows in the range
 */
export function auditCsv(events: readonly AuditEventWire[], isCut = false): string {
  const rows = events.map((event) => CSV_COLUMNS.map((column) => String(event[column])));
  return csvText([CSV_COLUMNS, ...rows], isCut ? `there may be more than the newest ${events.length} rows` : null);
}

/** `2026-03-01 13:00:05`, in the browser's time zone. */
export function localText(ms: number): string {
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19).replace("T", " ");
}

const LOCAL = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}(?::\d{2})?)$/;

/** RFC 3339; null: not a valid time. */
export function fromLocalText(text: string): string | null {
  const [, day, time] = LOCAL.exec(text.trim()) ?? [];
  const ms = day === undefined ? Number.NaN : Date.parse(`${day}T${time}`);
  // JavaScript turns a day that does not exist in the month into one of the next month.
  return Number.isNaN(ms) || localText(ms).slice(0, 10) !== day ? null : new Date(ms).toISOString();
}
