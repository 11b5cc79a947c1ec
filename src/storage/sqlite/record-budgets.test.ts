import { Database } from "bun:sqlite";
import { beforeEach, expect, test } from "bun:test";
import { NO_AUDIT_FILTERS } from "../../../test/fixtures/storage/history.ts";
import { attack } from "../../../test/fixtures/views.ts";
import type { AuditEvent } from "../../audit/audit-event.ts";
import { RECORD_CAUSES, type RecordCause } from "../record-causes.ts";
import { ATTACK_SCHEMA, AttackTable } from "./attack-table.ts";
import { AUDIT_SCHEMA, AuditTable } from "./audit-table.ts";
import { RECORD_USAGE, RecordBudgets } from "./record-budgets.ts";

const ALL = { range: { fromMs: 0, toMs: 1e6 }, filters: NO_AUDIT_FILTERS, tenant: null };
const BUDGET = 100_000;
const BUDGETS = Object.fromEntries(RECORD_CAUSES.map((cause) => [cause, BUDGET])) as Record<RecordCause, number>;

let db: Database;
let audit: AuditTable;
let attacks: AttackTable;
let written: number;

beforeEach(() => {
  db = new Database(":memory:", { strict: true });
  db.run(AUDIT_SCHEMA + ATTACK_SCHEMA);
  [audit, attacks, written] = [new AuditTable(db), new AttackTable(db), 0];
});

function write(count: number, changes: Partial<AuditEvent>): void {
  const who = { operator: "noc", role: "operator", tenant: "" };
  const what = { target: "", targetType: "host", reason: "r".repeat(600), source: "api", banState: "" } as const;
  const event: AuditEvent = { wallMs: 0, action: "ban", result: "active", ...who, ...what, dryRun: false, ...changes };
  for (let i = 0; i < count; i++) {
    const wallMs = ++written;
    audit.insert([{ id: String(wallMs).padStart(6, "0"), record: { ...event, wallMs } }]);
  }
}

const countOf = (operator: string) => audit.select(ALL).filter((event) => event.operator === operator).length;

test("orders of one tenant make room for its own, the oldest first, and never for another's or the administrator's", () => {
  db.run(RECORD_USAGE);
  const budgets = new RecordBudgets(db, BUDGETS);
  write(10, { operator: "noc" });
  write(10, { operator: "other", tenant: "other" });
  for (let i = 0; i < 20; i++) {
    write(25, { operator: "acme", tenant: "acme" });
    budgets.settle();
  }
  expect([countOf("noc"), countOf("other")]).toEqual([10, 10]);
  expect(countOf("acme")).toBeLessThan(90);
  expect(audit.select(ALL)[0]?.wallMs).toBe(written);
  expect(budgets.takeGivenUp()).toEqual({ tenant_orders: 500 - countOf("acme") });
  expect(budgets.takeGivenUp()).toEqual({});
});

test("of a tenant, rows of the token with the most are removed", () => {
  db.run(RECORD_USAGE);
  const budgets = new RecordBudgets(db, BUDGETS);
  write(20, { operator: "quiet", tenant: "acme" });
  write(150, { operator: "loud", tenant: "acme" });
  budgets.settle();
  expect(countOf("quiet")).toBe(20);
  expect(countOf("loud")).toBeLessThan(80);
});

test("refusals, downloads and automatic rows take no room of orders", () => {
  db.run(RECORD_USAGE);
  const budgets = new RecordBudgets(db, BUDGETS);
  write(90, { operator: "noc" });
  write(300, { operator: "viewer", result: "rejected" });
  write(300, { operator: "reader", action: "packet_download", result: "ok" });
  write(300, { operator: "", source: "auto" });
  budgets.settle();
  expect(countOf("noc")).toBe(90);
  expect(countOf("viewer")).toBeLessThan(100);
  expect(countOf("reader")).toBeLessThan(100);
  expect(countOf("")).toBeLessThan(100);
});

test("attacks of one tenant make room for its own, and a row that is written again counts once", () => {
  db.run(RECORD_USAGE);
  const budgets = new RecordBudgets(db, BUDGETS);
  const one = attack({ id: "other", endedAt: 5 });
  for (let i = 0; i < 200; i++) attacks.save([{ attack: one, tenant: "other" }]);
  budgets.settle();
  for (let i = 0; i < 300; i++) {
    attacks.save([{ attack: attack({ id: `a${i}`, startedAt: i, endedAt: i + 1 }), tenant: "acme" }]);
    budgets.settle();
  }
  expect(attacks.endedOf("other")).not.toBeNull();
  expect(attacks.endedOf("a0")).toBeNull();
  expect(attacks.endedOf("a299")).not.toBeNull();
  expect(budgets.takeGivenUp()["attacks"]).toBeGreaterThan(100);
});

test("what a file of the version before has is counted", () => {
  write(300, { operator: "acme", tenant: "acme" });
  db.run(RECORD_USAGE);
  const budgets = new RecordBudgets(db, BUDGETS);
  write(1, { operator: "acme", tenant: "acme" });
  budgets.settle();
  expect(countOf("acme")).toBeLessThan(100);
});
