import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import type { AuditEvent } from "../../audit/audit-event.ts";
import { AUDIT_SCHEMA, AuditTable } from "./audit-table.ts";

const ALL = { range: { fromMs: 0, toMs: 1e6 }, filters: { action: null, target: null }, tenant: null };

function event(wallMs: number, result: AuditEvent["result"]): { id: string; record: AuditEvent } {
  const who = { operator: "noc", role: "viewer", tenant: "" };
  const what = { target: "", targetType: "host", reason: "", source: "api", banState: "", dryRun: false } as const;
  return { id: String(wallMs).padStart(6, "0"), record: { wallMs, action: "ban", result, ...who, ...what } };
}

function tableWith(results: readonly AuditEvent["result"][]): AuditTable {
  const db = new Database(":memory:", { strict: true });
  db.run(AUDIT_SCHEMA);
  const table = new AuditTable(db);
  table.insert(results.map((result, i) => event(i + 1, result)));
  return table;
}

const timesOf = (table: AuditTable) => table.select(ALL).map(({ wallMs, result }) => `${wallMs} ${result}`);

test("of refused commands the newest stay, of those that took effect all", () => {
  const table = tableWith(["active", "rejected", "error", "withdrawn", "rejected", "rejected"]);
  for (const _ of table.removeRefusedBeyond(2));
  expect(timesOf(table)).toEqual(["6 rejected", "5 rejected", "4 withdrawn", "1 active"]);
});

test("as many refused commands as are kept stay", () => {
  const table = tableWith(["rejected", "error", "active"]);
  for (const _ of table.removeRefusedBeyond(2));
  expect(timesOf(table)).toHaveLength(3);
});

test("many are removed in slices", () => {
  const table = tableWith(new Array<AuditEvent["result"]>(5000).fill("rejected"));
  expect([...table.removeRefusedBeyond(10)]).toHaveLength(3);
  expect(timesOf(table)).toHaveLength(10);
});
