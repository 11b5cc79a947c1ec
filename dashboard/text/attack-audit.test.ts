import { expect, test } from "bun:test";
import { auditSpan, auditTarget } from "./attack-audit.ts";

const begin = { started_at: "2026-03-01T12:00:00.000Z" };

test("rows are those on the victim, or on the first address of a prefix", () => {
  expect(auditTarget({ ...begin, target: "192.0.2.1" })).toBe("192.0.2.1");
  expect(auditTarget({ ...begin, prefix: "192.0.2.0/24" })).toBe("192.0.2.0");
  expect(auditTarget(begin)).toBeNull();
});

test("the time runs from before the attack to after it, to now while it lasts, and never longer than is answered", () => {
  expect(auditSpan(begin)).toEqual({ kind: "between", from: "2026-03-01T11:59:00.000Z", to: null });
  expect(auditSpan({ ...begin, ended_at: "2026-03-01T13:00:00.000Z" }).to).toBe("2026-03-01T13:10:00.000Z");
  expect(auditSpan({ ...begin, ended_at: "2026-06-01T13:00:00.000Z" }).to).toBe("2026-03-31T11:59:00.000Z");
});
