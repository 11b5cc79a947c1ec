/** A maintenance window: what is done otherwise for some targets in a time. Pure. */

import { type Prefix, prefixContains, prefixCovers } from "../../net/prefix.ts";
import { localMs, wallMsOf } from "../../schema/time-zone.ts";
import { DAY_MS, MINUTE_MS } from "../../system/now.ts";

export interface Window {
  readonly name: string;
  /** Together with `hostgroups`: a target of one of these. Both empty: all targets. */
  readonly prefixes: readonly Prefix[];
  readonly hostgroups: readonly string[];
  /** Attacks are detected and recorded, and their bans are virtual. */
  readonly watchOnly: boolean;
  /** No attack and no ban there is notified. */
  readonly quiet: boolean;
  /** By which thresholds of new attacks are multiplied; 1: they stay. */
  readonly thresholdFactor: number;
  readonly reason: string;
  readonly times: WindowTimes;
}

export type WindowTimes =
  /** Wall clock, ms. */
  { readonly kind: "once"; readonly fromMs: number; readonly untilMs: number } | Weekly;

/** Days from Sunday, 0; minutes of the day. It begins and ends by the clocks of the time zone. */
interface Weekly {
  readonly kind: "weekly";
  readonly zone: string;
  readonly days: readonly number[];
  readonly fromMinute: number;
  readonly minutes: number;
}

/** Wall clock, ms. */
type Period = readonly [fromMs: number, untilMs: number];

/** From yesterday on. A window is open for less than a week, so that the next period is within two. */
const DAYS_AHEAD = 16;
/** 1970-01-01 was a Thursday. */
const FIRST_DAY = 4;

/** The periods of a window, since yesterday there. */
const periodsByWindow = new WeakMap<Weekly, { readonly today: number; readonly periods: readonly Period[] }>();

/** When it closes, over periods that follow each other without a gap; null: it is not open. */
export function openUntil({ times }: Window, wallMs: number): number | null {
  return coveredUntil(periodsOf(times, wallMs), wallMs);
}

/** When it opens next, and closes after that; null: never again. While it is open, after that. */
export function opensNext(window: Window, wallMs: number): { readonly atMs: number; readonly untilMs: number } | null {
  const periods = periodsOf(window.times, wallMs);
  const afterMs = coveredUntil(periods, wallMs) ?? wallMs;
  const atMs = periods.find(([fromMs]) => fromMs > afterMs)?.[0];
  return atMs === undefined ? null : { atMs, untilMs: coveredUntil(periods, atMs) ?? atMs };
}

/** The end of the last of those that follow each other from this time on; null: none covers it. */
function coveredUntil(periods: readonly Period[], wallMs: number): number | null {
  let until: number | null = null;
  for (const [fromMs, untilMs] of periods) {
    if (fromMs <= (until ?? wallMs) && untilMs > wallMs) until = untilMs;
  }
  return until;
}

function periodsOf(times: WindowTimes, wallMs: number): readonly Period[] {
  return times.kind === "once" ? [[times.fromMs, times.untilMs]] : periodsOfWeeks(times, wallMs);
}

function periodsOfWeeks(weekly: Weekly, wallMs: number): readonly Period[] {
  const today = Math.floor(localMs(weekly.zone, wallMs) / DAY_MS);
  const known = periodsByWindow.get(weekly);
  if (known?.today === today) return known.periods;
  const periods = periodsFrom(weekly, today - 1);
  periodsByWindow.set(weekly, { today, periods });
  return periods;
}

/** Those that begin on this day, since 1970, and after it. None is longer than a day. */
function periodsFrom({ zone, days, fromMinute, minutes }: Weekly, first: number): Period[] {
  const begins = Array.from({ length: DAYS_AHEAD }, (_, i) => first + i).filter((day) => days.includes(weekday(day)));
  return begins.map((day) => {
    const fromLocal = day * DAY_MS + fromMinute * MINUTE_MS;
    const [fromMs, untilMs] = [wallMsOf(zone, fromLocal), wallMsOf(zone, fromLocal + minutes * MINUTE_MS)];
    // Where daylight saving leaves out the begin, it opens later, for as long.
    const isLeftOut = localMs(zone, fromMs) !== fromLocal;
    return [fromMs, isLeftOut ? Math.max(untilMs, fromMs + minutes * MINUTE_MS) : untilMs] as const;
  });
}

function weekday(day: number): number {
  return (day + FIRST_DAY) % 7;
}

/** An address as a prefix, or a hostgroup as a whole, whose prefix is null. */
export interface Subject {
  readonly prefix: Prefix | null;
  readonly group: string;
  /** Also a window of a part of the prefix is for it. Absent: only one of all of it. */
  readonly isAnyPart?: true;
}

export function isFor({ prefixes, hostgroups }: Window, { prefix, group, isAnyPart }: Subject): boolean {
  if (prefixes.length === 0 && hostgroups.length === 0) return true;
  if (hostgroups.includes(group)) return true;
  if (prefix === null) return false;
  if (isAnyPart && prefixes.some((inner) => prefixContains(prefix, inner.address))) return true;
  return prefixes.some((outer) => prefixCovers(outer, prefix));
}

/** For records: `watch only, quiet, thresholds × 3, for web, 203.0.113.0/24`. */
export function windowText({ prefixes, hostgroups, watchOnly, quiet, thresholdFactor }: Window): string {
  const targets = [...hostgroups, ...prefixes.map(({ text }) => text)];
  const parts = [
    watchOnly ? "watch only" : "",
    quiet ? "quiet" : "",
    thresholdFactor === 1 ? "" : `thresholds × ${thresholdFactor}`,
    `for ${targets.length === 0 ? "all" : targets.join(", ")}`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}
