import { expect, test } from "bun:test";
import { isTimeZone, localMs, wallMsOf } from "./time-zone.ts";

test.each([
  ["Europe/Berlin", true],
  ["UTC", true],
  ["America/Argentina/Buenos_Aires", true],
  ["Europe/Berlyn", false],
  ["+01:00", false],
  ["", false],
])("%s: a time zone %p", (text, is) => {
  expect(isTimeZone(text)).toBe(is);
});

test.each([
  ["Asia/Kathmandu", "2026-01-01T00:00:00.000Z", "2026-01-01T05:45:00.000Z"],
  ["America/St_Johns", "2026-07-01T00:00:00.001Z", "2026-06-30T21:30:00.001Z"],
  // Half an hour of daylight saving, which begins at 15:30 UTC.
  ["Australia/Lord_Howe", "2026-10-03T15:29:59.999Z", "2026-10-04T01:59:59.999Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30:00.000Z", "2026-10-04T02:30:00.000Z"],
  ["Pacific/Apia", "2026-12-31T23:00:00.000Z", "2027-01-01T12:00:00.000Z"],
  // A clock set far back.
  ["Europe/Berlin", "1970-01-01T00:00:00.000Z", "1970-01-01T01:00:00.000Z"],
])("a clock in %s at %s", (zone, utc, local) => {
  expect(new Date(localMs(zone, Date.parse(utc))).toISOString()).toBe(local);
  expect(new Date(localMs(zone, Date.parse(utc))).toISOString()).toBe(local);
});

test.each([
  ["UTC", "2026-03-01T02:00:00Z", "2026-03-01T02:00:00.000Z"],
  ["Asia/Kathmandu", "2026-01-01T05:45:00Z", "2026-01-01T00:00:00.000Z"],
  // The clock goes from 02:00 to 03:00, later in the year from 03:00 to 02:00.
  ["Europe/Berlin", "2026-03-29T01:59:00Z", "2026-03-29T00:59:00.000Z"],
  ["Europe/Berlin", "2026-03-29T02:30:00Z", "2026-03-29T01:30:00.000Z"],
  ["Europe/Berlin", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00.000Z"],
  ["Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00.000Z"],
  ["Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00.000Z"],
  ["America/New_York", "2026-11-01T01:30:00Z", "2026-11-01T05:30:00.000Z"],
  ["Australia/Lord_Howe", "2026-10-04T02:30:00Z", "2026-10-03T15:30:00.000Z"],
])("a clock in %s shows %s", (zone, local, utc) => {
  expect(new Date(wallMsOf(zone, Date.parse(local))).toISOString()).toBe(utc);
});
