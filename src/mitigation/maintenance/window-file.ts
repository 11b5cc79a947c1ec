/** How an operator writes a maintenance window: in `maintenance`, and in a command to the API. */
import { type Static, Type } from "@sinclair/typebox";
import { MAINTENANCE_REASON_MAX, MAINTENANCE_SECONDS_MAX } from "../../limits.ts";
import type { Prefix } from "../../net/prefix.ts";
import { boolean, closedObject, described, integer, list, oneOf, text } from "../../schema/schema-forms.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import { parseAddressOrPrefix } from "../../schema/text-forms.ts";
import { parseTimestamp } from "../../schema/timestamp.ts";
import type { Window, WindowTimes } from "./window.ts";

const TARGETS_MAX = 64;
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
const MINUTES_MAX = 1440;
const ALWAYS = `must be below ${MINUTES_MAX} with all days: no window is open for ever; dry_run_directions and thresholds of hostgroups are`;

/** The keys that an order has, too. */
export const WINDOW_KEYS = {
  name: described(text("ruleName"), "The name of the window, unique among all of them."),
  hostgroups: described(list(text("groupName"), TARGETS_MAX), "The hostgroups that it is for."),
  prefixes: described(
    list(text("addressOrPrefix"), TARGETS_MAX),
    "Addresses and prefixes that it is for, beside `hostgroups`. Without both it is for all.",
  ),
  watch_only: described(
    boolean(false),
    "Whether attacks are only watched: their bans are recorded and not announced, and those in force are withdrawn. Bans by hand stay.",
  ),
  quiet: described(boolean(false), "Whether attacks and bans there cause no notifications."),
  threshold_factor: described(
    Type.Number({ minimum: 1, maximum: 1000, default: 1 }),
    "The factor by which the thresholds of hosts and hostgroups are multiplied for new attacks.",
  ),
  reason: described(Type.Optional(Type.String({ maxLength: MAINTENANCE_REASON_MAX })), "Why, in words for people."),
};

export const WindowFile = closedObject({
  ...WINDOW_KEYS,
  from: described(Type.Optional(Type.String()), "When it opens, for a window that opens once: `2026-03-01T02:00:00Z`."),
  until: described(Type.Optional(Type.String()), "When that one closes, at most a week later."),
  weekly: described(
    Type.Optional(
      closedObject({
        days: described(list(oneOf(...DAYS), DAYS.length, { atLeastOne: true }), "The days on which it opens."),
        at: described(Type.String({ pattern: "^([01]\\d|2[0-3]):[0-5]\\d$" }), "When it opens, as `02:00`."),
        minutes: described(
          integer(1, MINUTES_MAX),
          "How long it is open; below 1440 if all days are listed, so that it closes.",
        ),
        time_zone: described(
          text("timeZone", { default: "UTC" }),
          "The time zone of `days` and `at`. It opens and closes by the clocks there, so that a change of daylight saving within it makes it shorter or longer. If the change leaves out the time at which it opens, it opens later, for the same number of minutes.",
        ),
      }),
    ),
    "When it opens each week, in place of `from` and `until`.",
  ),
});
export type WindowFile = Static<typeof WindowFile>;

/** The targets and the effects of a window. */
export type WindowTargets = Pick<
  WindowFile,
  "name" | "hostgroups" | "prefixes" | "watch_only" | "quiet" | "threshold_factor"
> & {
  readonly reason?: string;
};

/** Paths begin at its keys. @param groups the names of the hostgroups; undefined: not known. */
export function* targetFindings(
  window: Pruned<WindowTargets>,
  groups: readonly (string | undefined)[] | undefined,
): Generator<Finding> {
  const { watch_only: watchOnly, quiet, threshold_factor: factor } = window;
  if (watchOnly === false && quiet === false && factor === 1) {
    yield { path: ["watch_only"], rule: "or quiet or threshold_factor: one of them says what the window does" };
  }
  for (const [i, name] of (window.hostgroups ?? []).entries()) {
    if (name === undefined || name === "global" || groups === undefined || groups.includes(name)) continue;
    yield { path: ["hostgroups", i], rule: `there is no hostgroup ${name}` };
  }
}

export function* timeFindings({ from, until, weekly }: Pruned<WindowFile>): Generator<Finding> {
  const isOnce = from !== undefined || until !== undefined;
  if (isOnce === (weekly !== undefined)) {
    yield { path: ["weekly"], rule: "or from and until: one of them says when the window is open" };
    return;
  }
  const isEachDay = new Set(weekly?.days).size === DAYS.length;
  if (isEachDay && weekly?.minutes === MINUTES_MAX) yield { path: ["weekly", "minutes"], rule: ALWAYS };
  if (!isOnce) return;
  const [fromMs, untilMs] = [parseTimestamp(from ?? ""), parseTimestamp(until ?? "")];
  if (fromMs === null) yield { path: ["from"], rule: "must be a time as 2026-03-01T02:00:00Z" };
  if (untilMs === null) yield { path: ["until"], rule: "must be a time as 2026-03-01T02:00:00Z" };
  if (fromMs === null || untilMs === null) return;
  const seconds = (untilMs - fromMs) / 1000;
  if (seconds <= 0) yield { path: ["until"], rule: "must be after from" };
  if (seconds > MAINTENANCE_SECONDS_MAX)
    yield { path: ["until"], rule: "must be within a week of from: no window is open for ever" };
}

/** Without findings. */
export function buildWindow(file: WindowFile): Window {
  return windowOf(file, timesOf(file));
}

export function windowOf(targets: WindowTargets, times: WindowTimes): Window {
  const {
    name,
    hostgroups,
    prefixes,
    watch_only: watchOnly,
    quiet,
    threshold_factor: thresholdFactor,
    reason = "",
  } = targets;
  const parsed = prefixes.map(parseAddressOrPrefix).filter((prefix): prefix is Prefix => prefix !== null);
  return { name, hostgroups, prefixes: parsed, watchOnly, quiet, thresholdFactor, reason, times };
}

function timesOf({ from = "", until = "", weekly }: WindowFile): WindowTimes {
  if (weekly === undefined)
    return { kind: "once", fromMs: parseTimestamp(from) ?? 0, untilMs: parseTimestamp(until) ?? 0 };
  const [hours, minutes] = weekly.at.split(":").map(Number);
  const days = weekly.days.map((day) => DAYS.indexOf(day));
  const fromMinute = 60 * (hours ?? 0) + (minutes ?? 0);
  return { kind: "weekly", zone: weekly.time_zone, days, fromMinute, minutes: weekly.minutes };
}
