/** The times that people write on a command line. */
import { afterAll, describe, expect, test } from "bun:test";
import { CtlUsage, momentAheadOf, momentOf } from "./command.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const ZONE = process.env["TZ"];

afterAll(() => {
  process.env["TZ"] = ZONE ?? "";
});

describe("a time of day is the nearest in this machine's zone", () => {
  test.each([
    ["Etc/UTC", "22:00", "2026-03-01T22:00:00.000Z", "2026-02-28T22:00:00.000Z"],
    ["Etc/UTC", "9:30", "2026-03-02T09:30:00.000Z", "2026-03-01T09:30:00.000Z"],
    ["Etc/UTC", "12:00", "2026-03-02T12:00:00.000Z", "2026-02-28T12:00:00.000Z"],
    ["Europe/Berlin", "22:00", "2026-03-01T21:00:00.000Z", "2026-02-28T21:00:00.000Z"],
    ["Asia/Tokyo", "20:00", "2026-03-02T11:00:00.000Z", "2026-03-01T11:00:00.000Z"],
  ])("in %s %s", (zone, text, ahead, before) => {
    process.env["TZ"] = zone;
    expect(momentAheadOf("at", text, NOW)).toBe(ahead);
    expect(momentOf("from", text, NOW)).toBe(before);
  });
});

test("a time of day that today lacks is at its own hour on another day", () => {
  process.env["TZ"] = "Europe/Berlin";
  expect(momentAheadOf("at", "02:30", Date.parse("2026-03-29T03:45:00+02:00"))).toBe("2026-03-30T00:30:00.000Z");
  expect(momentOf("from", "02:30", Date.parse("2026-03-29T03:15:00+02:00"))).toBe("2026-03-28T01:30:00.000Z");
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
