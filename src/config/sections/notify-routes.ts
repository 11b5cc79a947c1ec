/** The key `notify.routes`: a tree that says which events go to which targets, and when. */
import { type Static, Type } from "@sinclair/typebox";
import type { Hours, NotifyRoute, RouteMatch } from "../../notify/notify-config.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import { boolean, closedObject, described, integer, oneOf, text } from "../../schema/schema-forms.ts";
import { parsePartOfDay } from "../../schema/text-forms.ts";
import { EVENT_KINDS, SEVERITIES } from "../../targets/target-words.ts";

export const NOTIFY_TARGETS_MAX = 64;
/** At each level, and in all. */
export const NOTIFY_ROUTES_MAX = 256;
const MATCHED_NAMES_MAX = 256;
const REPEAT_MINUTES_MAX = 1440;
/** The time that is left of an event's age, after which it is given up, is for attempts that are repeated. */
export const GROUP_SECONDS_MAX = 300;
const QUIET_TIMES_MAX = 16;
const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"] as const;

const names = (form: "tenantName" | "groupName", description: string) =>
  described(Type.Optional(Type.Array(text(form), { minItems: 1, maxItems: MATCHED_NAMES_MAX })), description);

const days = Type.Optional(Type.Array(oneOf(...DAYS), { minItems: 1, maxItems: DAYS.length }));

const QuietTime = closedObject({
  days: described(
    days,
    "On these days. A part of the day that goes over midnight belongs to the day on which it begins.",
    {
      ifAbsent: "each day",
    },
  ),
  hours: described(Type.Optional(text("partOfDay")), "In this part of the day.", { ifAbsent: "the whole day" }),
});

const KEYS = {
  tenants: names("tenantName", "Events of these tenants."),
  hostgroups: names("groupName", "Attacks and bans of these hostgroups; `global` is that of all other networks."),
  events: described(
    Type.Optional(Type.Array(oneOf(...EVENT_KINDS), { minItems: 1, maxItems: EVENT_KINDS.length })),
    "Events of these kinds.",
  ),
  severity: described(Type.Optional(oneOf(...SEVERITIES)), "Events of at least this severity."),
  min_pps: described(Type.Optional(integer(1, 1e12)), "Attacks of at least this rate in all, packets/s."),
  min_mbps: described(Type.Optional(integer(1, 1e9)), "Attacks of at least this rate in all, Mbit/s."),
  days: described(
    days,
    "Events on these days. A part of the day that goes over midnight belongs to the day on which it begins.",
  ),
  hours: described(Type.Optional(text("partOfDay")), "Events in this part of the day."),
  time_zone: described(
    Type.Optional(text("timeZone")),
    "The time zone of its `days`, `hours` and `quiet`, and of the routes within it.",
    { ifAbsent: "that of the route around it, or `notify.time_zone`" },
  ),
  targets: described(
    Type.Optional(Type.Array(text("targetName"), { maxItems: NOTIFY_TARGETS_MAX })),
    "The targets that get these events. With an empty list no target does.",
    { ifAbsent: "those of the route around it; required where there is none" },
  ),
  continue: described(boolean(false), "Whether the routes below it, in the same list, are read for these events too."),
  repeat_minutes: described(
    Type.Optional(integer(1, REPEAT_MINUTES_MAX)),
    "An attack that lasts is notified again after this time (`attack_lasts`).",
    { ifAbsent: "that of the route around it, or none" },
  ),
  group_seconds: described(
    Type.Optional(integer(0, GROUP_SECONDS_MAX)),
    "Messages for people wait this long for further events, so that these are one message. Programs get each event at once.",
    { ifAbsent: "that of the route around it, or half a second" },
  ),
  quiet: described(
    Type.Optional(Type.Array(QuietTime, { maxItems: QUIET_TIMES_MAX })),
    "Times in which it sends only the ends of events that its targets have received. An attack or a fault that begins in a quiet time and lasts longer is sent afterwards, a ban is not.",
    { ifAbsent: "that of the route around it, or none" },
  ),
};

const AROUND = "Routes within this one, for some of its events, with the same keys; at most four levels.";

const Inner = closedObject(KEYS);

function around<Within extends typeof Inner>(within: Within, notes: { readonly sameKeysAs?: string } = {}) {
  const routes = Type.Optional(Type.Array(within, { maxItems: NOTIFY_ROUTES_MAX }));
  return closedObject({ ...KEYS, routes: described(routes, AROUND, notes) });
}

/** Four levels: a schema that contains itself is none that files can be checked against here. */
export const Route = around(around(around(Inner)), { sameKeysAs: "notify.routes[]" });

export interface RouteFile extends Static<typeof Inner> {
  readonly routes?: readonly RouteFile[];
}

type Inherited = Pick<NotifyRoute, "targets" | "repeatMs" | "groupMs" | "quiet"> & Pick<Hours, "zone">;

/** @param zone that of routes without `time_zone`. A rule between the keys reports routes without targets. */
export function buildRoutes(files: readonly RouteFile[], zone: string): readonly NotifyRoute[] {
  return routesWithin(files, ["notify"], { targets: [], repeatMs: null, groupMs: null, quiet: [], zone });
}

function routesWithin(files: readonly RouteFile[], around: ConfigPath, inherited: Inherited): readonly NotifyRoute[] {
  return files.map((file, i) => {
    const { continue: continues, repeat_minutes: minutes, group_seconds: seconds } = file;
    const place = [...around, "routes", i];
    const zone = file.time_zone ?? inherited.zone;
    const own = {
      targets: file.targets ?? inherited.targets,
      repeatMs: minutes === undefined ? inherited.repeatMs : 60_000 * minutes,
      groupMs: seconds === undefined ? inherited.groupMs : 1000 * seconds,
      quiet: file.quiet?.map((times) => hoursOf(times, zone)) ?? inherited.quiet,
    };
    const routes = routesWithin(file.routes ?? [], place, { ...own, zone });
    return { place, match: matchOf(file, zone), continues, ...own, routes };
  });
}

function matchOf(file: RouteFile, zone: string): RouteMatch {
  const { tenants, hostgroups, events, severity, min_pps: minPps, min_mbps: minMbps } = file;
  return {
    ...(tenants === undefined ? {} : { tenants: new Set(tenants) }),
    ...(hostgroups === undefined ? {} : { hostgroups: new Set(hostgroups) }),
    ...(events === undefined ? {} : { events: new Set(events) }),
    ...(severity === undefined ? {} : { severity }),
    ...(minPps === undefined ? {} : { minPps }),
    ...(minMbps === undefined ? {} : { minMbps }),
    ...(file.days === undefined && file.hours === undefined ? {} : { hours: hoursOf(file, zone) }),
  };
}

function hoursOf({ days: own, hours }: Pick<RouteFile, "days" | "hours">, zone: string): Hours {
  const part = hours === undefined ? null : parsePartOfDay(hours);
  return { zone, ...(part ?? { from: 0, to: 1440 }), days: new Set((own ?? DAYS).map((day) => DAYS.indexOf(day))) };
}
