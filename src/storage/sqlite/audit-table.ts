/** The audit trail in SQLite. */
import type { Database } from "bun:sqlite";
import type { AuditEvent, AuditQuery } from "../../audit/audit-event.ts";
import { HISTORY_ROWS_MAX } from "../../limits.ts";
import { commonText } from "../../net/target.ts";
import { type AuditRow, auditEventOf, auditRow, auditTargetMatcher } from "../audit-record.ts";
import type { Identified } from "../history-driver.ts";

/** Rows that any caller can cause, with any token. */
const REFUSED = "result IN ('rejected', 'error')";

export const AUDIT_SCHEMA = `
  CREATE TABLE audit (
    id TEXT PRIMARY KEY, at INTEGER NOT NULL, action TEXT NOT NULL, result TEXT NOT NULL, operator TEXT NOT NULL,
    role TEXT NOT NULL, tenant TEXT NOT NULL, target TEXT NOT NULL, target_type TEXT NOT NULL, reason TEXT NOT NULL,
    source TEXT NOT NULL, ban_state TEXT NOT NULL, dry_run INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX audit_at ON audit (at, id);
  CREATE INDEX audit_refused ON audit (at) WHERE ${REFUSED};
`;

export class AuditTable {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  insert(records: readonly Identified<AuditEvent>[]): void {
    const statement = this.#db.query(`
      INSERT INTO audit VALUES ($id, $at, $action, $result, $operator, $role, $tenant, $target, $target_type,
        $reason, $source, $ban_state, $dry_run)
      ON CONFLICT (id) DO NOTHING`);
    for (const record of records) statement.run(auditRow(record));
  }

  select({ range, filters, tenant }: AuditQuery): AuditEvent[] {
    const conditions = ["at >= $from", "at <= $to"];
    const values: Record<string, string | number> = { from: range.fromMs, to: range.toMs };
    const { action, result, operator, target, tenant: named } = filters;
    for (const [name, value] of Object.entries({ action, result, operator, tenant, named })) {
      if (value === null) continue;
      conditions.push(`${name === "named" ? "tenant" : name} = $${name}`);
      values[name] = value;
    }
    if (typeof target === "string") {
      // An address contains no wildcard.
      conditions.push("(target = $target OR target LIKE $target || '->%' OR target LIKE '%->' || $target)");
      values["target"] = target;
    }
    // So that of a long range few rows leave the database: the others are looked at one by one.
    const common = target === null || typeof target === "string" ? "" : commonText(target);
    if (common !== "") {
      conditions.push("instr(target, $common) > 0");
      values["common"] = common;
    }
    const sql = `SELECT * FROM audit WHERE ${conditions.join(" AND ")} ORDER BY at DESC, id DESC`;
    const rows = Iterator.from(this.#db.query<AuditRow, typeof values>(sql).iterate(values));
    const isWanted = target === null || typeof target === "string" ? () => true : auditTargetMatcher(target);
    return [...rows.filter(isWanted).take(HISTORY_ROWS_MAX)].map(auditEventOf);
  }

  removeBefore(ms: number): void {
    this.#db.query("DELETE FROM audit WHERE at < ?").run(ms);
  }
}
