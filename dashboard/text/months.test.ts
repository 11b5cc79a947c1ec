import { expect, test } from "bun:test";
import { monthsBefore } from "./months.ts";

test("months end where the next begins, over the turn of a year, and the present one now", () => {
  expect(monthsBefore(Date.UTC(2026, 0, 31, 12), 3)).toEqual([
    { name: "2026-01", from: "2026-01-01T00:00:00.000Z", to: "2026-01-31T12:00:00.000Z" },
    { name: "2025-12", from: "2025-12-01T00:00:00.000Z", to: "2026-01-01T00:00:00.000Z" },
    { name: "2025-11", from: "2025-11-01T00:00:00.000Z", to: "2025-12-01T00:00:00.000Z" },
  ]);
});
