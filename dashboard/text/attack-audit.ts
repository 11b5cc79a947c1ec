/** Which rows of the audit trail are about an attack: those on its victim in its time. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";

type Asked = Pick<AttackWire, "target" | "prefix" | "started_at" | "ended_at">;

interface AuditSpan {
  readonly kind: "between";
  readonly from: string;
  /** null: now. */
  readonly to: string | null;
}

const BEFORE_MS = 60_000;
/** A ban may be lifted when the attack is over. */
const AFTER_MS = 10 * 60_000;
/** The trail answers at most 31 days at once. */
const RANGE_MS_MAX = 30 * 86_400_000;

/** A row on a prefix has its first address. null: a hostgroup as a whole, which is never banned. */
export function auditTarget({ target, prefix }: Asked): string | null {
  return target ?? prefix?.replace(/\/.*/, "") ?? null;
}

/** The span of an attack's trail; if the attack is longer than the range of one answer, its first part. */
export function auditSpan({ started_at: begin, ended_at: end }: Asked): AuditSpan {
  const from = Date.parse(begin) - BEFORE_MS;
  const to =
    end === undefined ? null : new Date(Math.min(Date.parse(end) + AFTER_MS, from + RANGE_MS_MAX)).toISOString();
  return { kind: "between", from: new Date(from).toISOString(), to };
}
