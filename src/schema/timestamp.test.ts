import { describe, expect, test } from "bun:test";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { parseTimestamp, timestamp } from "./timestamp.ts";

const NOW = Date.UTC(2026, 2, 1, 12);

describe("RFC 3339 time", () => {
  test.each([
    ["2026-03-01T12:00:00Z", NOW],
    ["2026-03-01t12:00:00z", NOW],
    ["2026-03-01T13:30:00+01:30", NOW],
    ["2026-03-01T00:00:00-12:00", NOW],
    ["2026-03-01T12:00:00-00:00", NOW],
    ["2026-03-01T12:00:00.5Z", NOW + 500],
    ["2026-03-01T12:00:00.123999999999999999999Z", NOW + 123],
    ["2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
    ["0026-01-01T00:00:00Z", new Date("0026-01-01T00:00:00Z").getTime()],
    ["0000-01-01T00:00:00Z", Date.parse("0000-01-01T00:00:00Z")],
    ["9999-12-31T23:59:59.999Z", Date.parse("9999-12-31T23:59:59.999Z")],
  ])("%s is read", (text, wallMs) => {
    expect(parseTimestamp(text)).toBe(wallMs);
  });

  test.each([
    "",
    "now",
    "1772366400",
    "2026-03-01",
    "2026-03-01T12:00:00",
    "2026-03-01 12:00:00Z",
    "2026-03-01T12:00Z",
    "2026-03-01T12:00:00 01:00",
    "2026-03-01T12:00:00+0100",
    "2026-03-01T12:00:00+24:00",
    "2026-03-01T12:00:00+01:60",
    "2026-03-01T12:00:00.Z",
    "2026-03-01T12:00:00,5Z",
    "2026-02-30T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-03-01T24:00:00Z",
    "2026-03-01T12:60:00Z",
    "2016-12-31T23:59:60Z",
    "+002026-03-01T12:00:00Z",
    " 2026-03-01T12:00:00Z",
    "2026-03-01T12:00:00Z\n",
    "２026-03-01T12:00:00Z",
    "0000-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
  ])("%p is none", (text) => {
    expect(parseTimestamp(text)).toBeNull();
  });

  test("is written in UTC with milliseconds #rfc-3339-time", () => {
    expect(timestamp(Date.UTC(2026, 2, 1, 12))).toBe("2026-03-01T12:00:00.000Z");
  });

  test("reads what is written, whenever that is", () => {
    const seed = 20_261_121;
    const random = seededRandom(seed);
    for (let round = 0; round < 2000; round++) {
      const wallMs = Math.floor((random() - 0.3) * 4e12);
      expect(parseTimestamp(timestamp(wallMs)), `seed ${seed}: ${wallMs}`).toBe(wallMs);
    }
  });
});
