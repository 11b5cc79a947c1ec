/** Builds the audit row of a call from its result (docs/interface.md#audit-trail). */
import type { AuditEvent, AuditResult } from "../audit/audit-event.ts";
import { reasonOn } from "../audit/automatic-audit.ts";
import { isOneAddress } from "../mitigation/ban-subject.ts";
import { describeRefusal, type Refusal } from "./refusal.ts";
import type { AuditRule, Call, Outcome, OutcomePart } from "./route.ts";

export type Ended = Response | Refusal | Outcome;

interface EndedCall<Fields> {
  readonly rule: AuditRule<Fields>;
  readonly call: Call;
  /** null: not read, or not valid. */
  readonly fields: Fields | null;
  readonly ended: Ended;
  readonly wallMs: number;
  /** The service's dry run. */
  readonly dryRun: boolean;
}

/** Refusals that happen before the call itself is looked at. */
const UNAUDITED: ReadonlySet<Refusal["kind"]> = new Set([
  "no_valid_token",
  "other_node",
  "wrong_media_type",
  "foreign_lever",
]);

/** Empty: this result leaves no row. Of a call with several targets one for each. */
export function auditRows<Fields>(given: EndedCall<Fields>): AuditEvent[] {
  const { ended } = given;
  if (!(ended instanceof Response) && ended.kind !== "outcome" && UNAUDITED.has(ended.kind)) return [];
  const parts = ended instanceof Response || ended.kind !== "outcome" ? undefined : ended.parts;
  if (parts === undefined) return [rowOf(given, ended)];
  return parts.map((part) => ({ ...rowOf(given, part), ...(part.action && { action: part.action }) }));
}

function rowOf<Fields>(
  { rule, call, fields, wallMs, dryRun }: EndedCall<Fields>,
  ended: Ended | OutcomePart,
): AuditEvent {
  const { operator, role, tenant } = call.principal;
  const named = ended instanceof Response || ended.kind !== "outcome" ? undefined : ended.target;
  const prefix = named === undefined ? (rule.prefix?.(fields) ?? null) : null;
  const end = endOf(ended);
  return {
    wallMs,
    action: rule.action,
    operator,
    role,
    tenant: tenant ?? "",
    target: named?.text ?? rule.target(call, fields),
    targetType: named?.type ?? (prefix !== null && !isOneAddress(prefix) ? "prefix" : rule.targetType),
    source: "api",
    dryRun,
    ...end,
    reason: prefix === null ? end.reason : reasonOn(prefix, [end.reason]),
  };
}

function endOf(ended: Ended | OutcomePart): {
  result: AuditResult;
  reason: string;
  banState: string;
  dryRun?: boolean;
} {
  if (ended instanceof Response) return { result: resultOf(ended.status), reason: "", banState: "" };
  if (ended.kind !== "outcome") {
    const { status, error } = describeRefusal(ended);
    return { result: resultOf(status), reason: error, banState: "" };
  }
  const { result, reason = "", banState = "", dryRun } = ended;
  return { result, reason, banState, ...(dryRun === undefined ? {} : { dryRun }) };
}

/** Refusals by policy or state are `rejected`; everything else is bad input or a failure. */
function resultOf(status: number): AuditResult {
  if (status < 400) return "ok";
  return [403, 404, 409].includes(status) ? "rejected" : "error";
}
