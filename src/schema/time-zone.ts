/** Time zones of the IANA database, with the rules that Bun brings: what a clock on the wall there shows. */
import { DAY_MS, MINUTE_MS } from "../system/now.ts";

const PARTS = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" } as const;

/** The days of two months; windows look up half a month. */
const MIDNIGHTS_KEPT = 64;

interface ZoneClock {
  readonly format: Intl.DateTimeFormat;
  /** The offset at the begin of a UTC day, by the day: it is that of the whole day where the next day begins with it too. */
  readonly midnights: Map<number, number>;
  /** The latest minute that was looked up in a day with a change, and the offset then. */
  minute: number;
  offsetMs: number;
}

/** By the names that the configuration has in this process, of some hundreds that there are. */
const clocks = new Map<string, ZoneClock>();

/** `Europe/Berlin` or `UTC`; a mere offset is none, as it knows no daylight saving. */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/**
 * When a clock there shows this date and time, given as if they were UTC, ms. Of two such moments it is the first; a time that
 * daylight saving leaves out is as late as it would be without the change (`compatible` of ECMAScript's Temporal).
 */
export function wallMsOf(zone: string, local: number): number {
  const offset = (wallMs: number) => localMs(zone, wallMs) - wallMs;
  const before = local - offset(local - DAY_MS);
  const after = local - offset(local + DAY_MS);
  const shown = [before, after].filter((wallMs) => localMs(zone, wallMs) === local);
  return shown.length === 0 ? before : Math.min(...shown);
}

/** The date and time there as if they were UTC, ms. */
export function localMs(zone: string, wallMs: number): number {
  if (zone === "UTC") return wallMs;
  const clock = clocks.get(zone) ?? {
    format: formatOf(zone),
    midnights: new Map<number, number>(),
    minute: Number.NaN,
    offsetMs: 0,
  };
  clocks.set(zone, clock);
  return wallMs + offsetAt(clock, wallMs);
}

function offsetAt(clock: ZoneClock, wallMs: number): number {
  const day = Math.floor(wallMs / DAY_MS);
  const offset = midnightOffset(clock, day);
  if (offset === midnightOffset(clock, day + 1)) return offset;
  const minute = Math.floor(wallMs / MINUTE_MS);
  if (clock.minute !== minute) {
    clock.minute = minute;
    clock.offsetMs = shownMs(clock.format, minute * MINUTE_MS) - minute * MINUTE_MS;
  }
  return clock.offsetMs;
}

function midnightOffset({ format, midnights }: ZoneClock, day: number): number {
  const known = midnights.get(day);
  if (known !== undefined) return known;
  if (midnights.size === MIDNIGHTS_KEPT) midnights.clear();
  const offset = shownMs(format, day * DAY_MS) - day * DAY_MS;
  midnights.set(day, offset);
  return offset;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const calendar = { calendar: "gregory", numberingSystem: "latn", hourCycle: "h23" } as const;
  return new Intl.DateTimeFormat("en", { ...calendar, ...PARTS, timeZone });
}

function shownMs(format: Intl.DateTimeFormat, wallMs: number): number {
  const shown = new Map(format.formatToParts(wallMs).map(({ type, value }) => [type, Number(value)]));
  const part = (name: keyof typeof PARTS) => shown.get(name) ?? Number.NaN;
  return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"));
}
