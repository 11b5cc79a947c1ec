/** RFC 3339 times on the wire, from and to wall-clock milliseconds since the epoch. */
import { Type } from "@sinclair/typebox";

export const Timestamp = Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$" });

/** In UTC with milliseconds. */
export function timestamp(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

const RFC3339 = /^\d{4}-\d\d-\d\dt(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
/** Position of the fraction of a second. */
const FRACTION = 20;
/** Days that every month has. */
const DAYS_LEAST = 28;
/** The calendar repeats after this number of years. */
const CYCLE_YEARS = 400;
const CYCLE_MS = 146_097 * 86_400_000;

/** The range of years that RFC 3339 can write. */
const FIRST_MS = Date.parse("0000-01-01T00:00:00.000Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Strict: no leap second, no separator other than T, no invalid day, and in UTC only years from 0 to 9999, which can be
 * written again. Digits beyond milliseconds are cut off. null: invalid. Parses digits in place, since nodes' reports
 * have hundreds of times.
 */
export function parseTimestamp(text: string): number | null {
  if (!RFC3339.test(text)) return null;
  const [year, month, day] = [twoDigits(text, 0) * 100 + twoDigits(text, 2), twoDigits(text, 5), twoDigits(text, 8)];
  if (month < 1 || month > 12 || day < 1) return null;
  // Date.UTC maps the years 0 to 99 to the twentieth century.
  const dayMs = Date.UTC(year + CYCLE_YEARS, month - 1, day);
  if (day > DAYS_LEAST && new Date(dayMs).getUTCDate() !== day) return null;
  const seconds = (twoDigits(text, 11) * 60 + twoDigits(text, 14)) * 60 + twoDigits(text, 17);
  const wallMs = dayMs - CYCLE_MS + seconds * 1000 + fractionMs(text) - offsetMs(text);
  return wallMs >= FIRST_MS && wallMs <= LAST_MS ? wallMs : null;
}

function twoDigits(text: string, index: number): number {
  return 10 * digit(text, index) + digit(text, index + 1);
}

/** Returns a value outside of 0 to 9 if there is no digit. */
function digit(text: string, index: number): number {
  return text.charCodeAt(index) - 48;
}

function fractionMs(text: string): number {
  if (text[FRACTION - 1] !== ".") return 0;
  let [ms, scale] = [0, 100];
  for (let index = FRACTION; scale >= 1; index++, scale /= 10) {
    const value = digit(text, index);
    if (value < 0 || value > 9) return ms;
    ms += value * scale;
  }
  return ms;
}

/** The offset of a text that ends with `Z` or `+05:30`. */
function offsetMs(text: string): number {
  const { length } = text;
  const sign = text[length - 6];
  if (sign !== "+" && sign !== "-") return 0;
  const ms = (twoDigits(text, length - 5) * 60 + twoDigits(text, length - 2)) * 60_000;
  return sign === "-" ? -ms : ms;
}
