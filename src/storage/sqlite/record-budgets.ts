/**
 * The bytes that records of each cause take in the file of audit and attacks (docs/interface.md#limit-shares), and which of
 * them are removed over its budget.
 */
import type { Database } from "bun:sqlite";
import { AUDIT_CAUSE, type RecordCause, ROW_BYTES } from "../record-causes.ts";

const added = (row: string) => `INSERT INTO record_usage VALUES (${row})
  ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;`;

export const RECORD_USAGE = `
  ALTER TABLE audit ADD COLUMN cause TEXT GENERATED ALWAYS AS (
    ${AUDIT_CAUSE}) VIRTUAL;
  ALTER TABLE audit ADD COLUMN bytes INTEGER GENERATED ALWAYS AS (
    ${ROW_BYTES} + octet_length(reason) + octet_length(target) + octet_length(operator)) VIRTUAL;
  ALTER TABLE attacks ADD COLUMN bytes INTEGER GENERATED ALWAYS AS (${ROW_BYTES} + octet_length(record)) VIRTUAL;
  CREATE INDEX audit_cause ON audit (cause, tenant, operator, at, id);
  CREATE INDEX attacks_tenant ON attacks (tenant, started, id);
  CREATE TABLE record_usage (
    cause TEXT NOT NULL, tenant TEXT NOT NULL, operator TEXT NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (cause, tenant, operator)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO record_usage SELECT cause, tenant, operator, SUM(bytes) FROM audit GROUP BY cause, tenant, operator;
  INSERT INTO record_usage SELECT 'attacks', tenant, '', SUM(bytes) FROM attacks GROUP BY tenant;
  CREATE TRIGGER audit_added AFTER INSERT ON audit
    BEGIN ${added("NEW.cause, NEW.tenant, NEW.operator, NEW.bytes")} END;
  CREATE TRIGGER audit_removed AFTER DELETE ON audit
    BEGIN ${added("OLD.cause, OLD.tenant, OLD.operator, -OLD.bytes")} END;
  CREATE TRIGGER attacks_added AFTER INSERT ON attacks BEGIN ${added("'attacks', NEW.tenant, '', NEW.bytes")} END;
  CREATE TRIGGER attacks_removed AFTER DELETE ON attacks BEGIN ${added("'attacks', OLD.tenant, '', -OLD.bytes")} END;
`;

/** Records removed at once, and how often in one write. */
const SLICE_ROWS = 64;
const SLICES_MAX = 32;

interface Usage {
  readonly cause: RecordCause;
  readonly bytes: number;
}

export class RecordBudgets {
  readonly #db: Database;
  readonly #budgets: Readonly<Record<RecordCause, number>>;
  readonly #givenUp = new Map<RecordCause, number>();

  constructor(db: Database, budgets: Readonly<Record<RecordCause, number>>) {
    this.#db = db;
    this.#budgets = budgets;
    // Else a row that replaces another one would count twice.
    db.run("PRAGMA recursive_triggers = ON");
  }

  /** Within the transaction of a write. */
  settle(): void {
    const usages = this.#db.query("SELECT cause, SUM(bytes) AS bytes FROM record_usage GROUP BY cause").all();
    for (const { cause, bytes } of usages as Usage[]) {
      let over = bytes - this.#budgets[cause];
      for (let slice = 0; slice < SLICES_MAX && over > 0; slice++) over -= this.#removeOldest(cause);
    }
  }

  /** Records removed since the last call. */
  takeGivenUp(): Readonly<Partial<Record<RecordCause, number>>> {
    const givenUp = Object.fromEntries(this.#givenUp);
    this.#givenUp.clear();
    return givenUp;
  }

  /** Returns the bytes. */
  #removeOldest(cause: RecordCause): number {
    const tenant = this.#largest("tenant", { cause, tenant: null });
    const operator = this.#largest("operator", { cause, tenant });
    const table = cause === "attacks" ? "attacks" : "audit";
    const own =
      cause === "attacks"
        ? "WHERE $cause = 'attacks' AND tenant = $tenant AND $operator = '' ORDER BY started, id"
        : "WHERE cause = $cause AND tenant = $tenant AND operator = $operator ORDER BY at, id";
    const rows = this.#db
      .query(`SELECT id, bytes FROM ${table} ${own} LIMIT ${SLICE_ROWS}`)
      .all({ cause, tenant, operator }) as { readonly id: string; readonly bytes: number }[];
    const remove = this.#db.query(`DELETE FROM ${table} WHERE id = ?`);
    for (const { id } of rows) remove.run(id);
    this.#givenUp.set(cause, (this.#givenUp.get(cause) ?? 0) + rows.length);
    return rows.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The owner with the most records. @param tenant null: any. */
  #largest(
    column: "tenant" | "operator",
    { cause, tenant }: { readonly cause: RecordCause; readonly tenant: string | null },
  ): string {
    const sql = `SELECT ${column} AS name FROM record_usage WHERE cause = $cause AND ($tenant IS NULL OR tenant = $tenant)
      GROUP BY ${column} ORDER BY SUM(bytes) DESC LIMIT 1`;
    return (this.#db.query(sql).get({ cause, tenant }) as { readonly name: string } | null)?.name ?? "";
  }
}
