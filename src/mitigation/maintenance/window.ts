/** A maintenance window: what is done otherwise for some targets in a time. Pure. */

import { type Prefix, prefixContains, prefixCovers } from "../../net/prefix.ts";
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

/** In UTC. Days from Sunday, 0; minutes of the day. */
interface Weekly {
  readonly kind: "weekly";
  readonly days: readonly number[];
  readonly fromMinute: number;
  readonly minutes: number;
}

const WEEK_DAYS = 7;
/** 1970-01-01 was a Thursday. */
const FIRST_DAY = 4;

/** When it closes, over periods that follow each other without a gap; null: it is not open. */
export function openUntil({ times }: Window, wallMs: number): number | null {
  if (times.kind === "once") return times.fromMs <= wallMs && wallMs < times.untilMs ? times.untilMs : null;
  let until: number | null = null;
  // It may have begun the day before.
  for (const [fromMs, untilMs] of periods(times, Math.floor(wallMs / DAY_MS) - 1)) {
    if (fromMs <= (until ?? wallMs) && untilMs > wallMs) until = untilMs;
  }
  return until;
}

/** When it opens next; null: never again. While it is open, after that. */
export function opensNext(window: Window, wallMs: number): number | null {
  const { times } = window;
  if (times.kind === "once") return times.fromMs > wallMs ? times.fromMs : null;
  const afterMs = openUntil(window, wallMs) ?? wallMs;
  const next = periods(times, Math.floor(afterMs / DAY_MS)).find(([fromMs]) => fromMs > afterMs);
  return next?.[0] ?? null;
}

/** Those that begin on this day, since 1970, or in the week after it. None is longer than a day. */
function periods({ days, fromMinute, minutes }: Weekly, first: number): (readonly [fromMs: number, untilMs: number])[] {
  return Array.from({ length: WEEK_DAYS + 1 }, (_, i) => first + i).flatMap((day) => {
    const fromMs = day * DAY_MS + fromMinute * MINUTE_MS;
    return days.includes(weekday(day)) ? [[fromMs, fromMs + minutes * MINUTE_MS] as const] : [];
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
