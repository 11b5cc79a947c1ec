/** Times in 24 hours with the browser's time zone, and durations. */

import { LOCALE, t } from "../../language.ts";

const CLOCK: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const clockFormat = new Intl.DateTimeFormat(LOCALE, CLOCK);
const zonedFormat = new Intl.DateTimeFormat(LOCALE, { ...CLOCK, timeZoneName: "short" });
const shortFormat = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** `03:12:45`. */
export function clockTime(ms: number): string {
  return clockFormat.format(ms);
}

/** `03:12:45 CET`. */
export function zonedTime(ms: number): string {
  return zonedFormat.format(ms);
}

/** `03:12`, for the axis of a chart. */
export function shortTime(ms: number): string {
  return shortFormat.format(ms);
}

const dayFormat = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short" });

/** `1 Mar`, for the axis of a chart. */
export function dayOfMonth(ms: number): string {
  return dayFormat.format(ms);
}

/** `2026-03-01`, in the browser's time zone. */
function dateText(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The time alone if it is today, else with the date; always with the zone. */
export function momentText(ms: number, nowMs: number): string {
  return dateText(ms) === dateText(nowMs) ? zonedTime(ms) : `${dateText(ms)} ${zonedTime(ms)}`;
}

const UNITS = [
  [t`d`, 86_400],
  [t`h`, 3600],
  [t`min`, 60],
  [t`s`, 1],
] as const;

/** `45 s`, `12 min 5 s`, `3 h 20 min`: the two largest units. Negative durations are shown as 0. */
export function duration(seconds: number): string {
  let rest = Math.max(0, Math.floor(seconds));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    if (amount > 0 || (size === 1 && parts.length === 0)) parts.push(`${amount} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** `9:59`, `1:00:00`: counts down without changing its width each second. */
export function countdown(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
