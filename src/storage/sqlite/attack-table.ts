/** Attacks in SQLite: one row per attack with the whole record, and columns for lookup. */
import type { Database } from "bun:sqlite";
import { type Attack, type EndedAttacksQuery, NO_ATTACK_FILTERS } from "../../detection/attack/attack.ts";
import { commonText, targetMatcher } from "../../net/target.ts";
import { attackOfRecord } from "../attack-record.ts";
import type { AttackRecord } from "../history-driver.ts";

export const ATTACK_SCHEMA = `
  CREATE TABLE attacks (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, hostgroup TEXT NOT NULL, target TEXT NOT NULL,
    started INTEGER NOT NULL, ended INTEGER, record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX attacks_ended ON attacks (ended) WHERE ended IS NOT NULL;
  CREATE INDEX attacks_started ON attacks (started);
`;

export class AttackTable {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  save(records: readonly AttackRecord[]): void {
    const statement = this.#db.query("INSERT OR REPLACE INTO attacks VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (const { attack, tenant } of records) {
      const { id, group, target, startedAt, endedAt } = attack;
      statement.run(id, tenant ?? "", group, target ?? "", startedAt, endedAt, JSON.stringify(attack));
    }
  }

  ended({ range, toId = null, filters = NO_ATTACK_FILTERS, tenant = null, limit }: EndedAttacksQuery): Attack[] {
    const conditions = ["ended IS NOT NULL"];
    const values: (string | number)[] = [];
    const where = (condition: string, ...its: readonly (string | number)[]) => {
      conditions.push(condition);
      values.push(...its);
    };
    if (range !== undefined) where("ended BETWEEN ? AND ?", range.fromMs, range.toMs);
    if (range !== undefined && toId !== null) where("(ended < ? OR id <= ?)", range.toMs, toId);
    const { target, group, tenant: named } = filters;
    if (typeof target === "string") where("target = ?", target);
    // So that of a long range few records leave the database: the others are looked at one by one.
    else if (target !== null && commonText(target) !== "") where("instr(target, ?) = 1", commonText(target));
    if (group !== null) where("hostgroup = ?", group);
    if (named !== null) where("tenant = ?", named);
    if (tenant !== null) where("tenant = ?", tenant);
    const sql = `SELECT target, record FROM attacks WHERE ${conditions.join(" AND ")} ORDER BY ended DESC, id DESC`;
    const rows = Iterator.from(
      this.#db.query<{ target: string; record: string }, typeof values>(sql).iterate(...values),
    );
    const isInside = target === null || typeof target === "string" ? null : targetMatcher(target);
    const wanted = isInside === null ? rows : rows.filter((row) => row.target !== "" && isInside(row.target));
    return [...wanted.take(limit)].map(({ record }) => attackOfRecord(record));
  }

  endedOf(id: string): Attack | null {
    const row = this.#db.query("SELECT record FROM attacks WHERE id = ? AND ended IS NOT NULL").get(id);
    return row === null ? null : attackOfRecord((row as { record: string }).record);
  }

  removeBefore(ms: number): void {
    this.#db.query("DELETE FROM attacks WHERE started < ?").run(ms);
  }
}
