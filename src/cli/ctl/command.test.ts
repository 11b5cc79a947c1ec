/** The times that people write on a command line. */
import { afterAll, expect, test } from "bun:test";
import { CtlUsage, momentAheadOf, momentOf } from "./command.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const ZONE = process.env["TZ"];

afterAll(() => {
  process.env["TZ"] = ZONE ?? "";
});

test("a time of day is the nearest that is meant", () => {
  process.env["TZ"] = "Europe/Berlin";
  expect(momentAheadOf("at", "22:00", NOW)).toBe("2026-03-01T21:00:00.000Z");
  expect(momentOf("from", "22:00", NOW)).toBe("2026-02-28T21:00:00.000Z");
});

test("a time with a date or a duration is as written, and anything else is refused", () => {
  expect(momentAheadOf("at", "2026-03-01T22:00:00Z", NOW)).toBe("2026-03-01T22:00:00.000Z");
  expect(momentAheadOf("at", "2h", NOW)).toBe("2026-03-01T14:00:00.000Z");
  expect(momentOf("from", "2h", NOW)).toBe("2026-03-01T10:00:00.000Z");
  for (const text of ["24:00", "12:60", "22:0", "tonight", "0"])
    expect(() => momentAheadOf("at", text, NOW), text).toThrow(CtlUsage);
  expect(() => momentAheadOf("at", "tonight", NOW)).toThrow(
    "--at tonight: write a time as 2026-03-01T12:00:00Z or 22:00, or in how long as 2h",
  );
});
