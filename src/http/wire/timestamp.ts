/** RFC 3339 times on the wire, from and to wall-clock milliseconds since the epoch. */
import { Type } from "@sinclair/typebox";

export const Timestamp = Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$" });

/** In UTC with milliseconds. */
export function timestamp(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

const RFC3339 =
  /^(\d{4})-(\d\d)-(\d\d)t([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?(z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** Of the years that RFC 3339 can write. */
const FIRST_MS = Date.parse("0000-01-01T00:00:00.000Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Strictly: no leap second, no other separator than T, no day that its month does not have, and in UTC no year before 0 or
 * after 9999, since such a time cannot be given back. What is finer than a millisecond is cut off. null: not such a time.
 */
export function parseTimestamp(text: string): number | null {
  const match = RFC3339.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const millisecond = Number((match[7] ?? "").slice(0, 3).padEnd(3, "0"));
  const date = new Date(0);
  // Date.UTC would take the years 0 to 99 for those of the twentieth century.
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  date.setUTCHours(hour, minute, second, millisecond);
  const wallMs = date.getTime() - offsetMs(match[8] ?? "Z");
  return wallMs >= FIRST_MS && wallMs <= LAST_MS ? wallMs : null;
}

/** `Z` or `+05:30`. */
function offsetMs(zone: string): number {
  if (zone.toLowerCase() === "z") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4));
  return (zone.startsWith("-") ? -minutes : minutes) * 60_000;
}
