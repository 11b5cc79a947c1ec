/** Which targets of notifications an event would get to, on the wire. */
import { type Static, Type } from "@sinclair/typebox";
import { closedObject, oneOf } from "../../schema/schema-forms.ts";
import { EVENT_KINDS, type EventKind, SEVERITIES, type Severity } from "../../targets/target-words.ts";
import { omitNulls } from "./omit-nulls.ts";

/** An event that may happen. */
export interface RouteQuestion {
  readonly kind: EventKind;
  /** null: the most urgent of the kind. */
  readonly severity: Severity | null;
  readonly tenant: string | null;
  readonly group: string | null;
  readonly pps: number | null;
  readonly mbps: number | null;
  /** Wall clock, ms. */
  readonly atMs: number;
}

/** The routes that decide, each once, and what they lead to at that time. */
export interface RouteView {
  readonly severity: Severity;
  /** null: there are no routes, and all targets get it. */
  readonly routes: readonly DecidingRoute[] | null;
  /** That get it, those of the tenant last. */
  readonly targets: readonly string[];
}

interface DecidingRoute {
  /** Its place in the configuration: `notify.routes[1].routes[0]`. */
  readonly place: string;
  readonly targets: readonly string[];
  readonly repeatMs: number | null;
  readonly groupMs: number | null;
  /** Whether it is in a quiet time. */
  readonly isQuiet: boolean;
}

export const NotifyRouteWire = closedObject({
  event: oneOf(...EVENT_KINDS),
  severity: oneOf(...SEVERITIES),
  targets: Type.Array(Type.String()),
  /** Absent: the configuration has none. */
  routes: Type.Optional(
    Type.Array(
      closedObject({
        route: Type.String(),
        targets: Type.Array(Type.String()),
        quiet: Type.Boolean(),
        repeat_minutes: Type.Optional(Type.Number()),
        group_seconds: Type.Optional(Type.Number()),
      }),
    ),
  ),
});
export type NotifyRouteWire = Static<typeof NotifyRouteWire>;

export function notifyRouteToWire(event: EventKind, { severity, targets, routes }: RouteView): NotifyRouteWire {
  return omitNulls({
    ...{ event, severity, targets: [...targets] },
    routes:
      routes?.map((route) =>
        omitNulls({
          ...{ route: route.place, targets: [...route.targets], quiet: route.isQuiet },
          repeat_minutes: route.repeatMs === null ? null : route.repeatMs / 60_000,
          group_seconds: route.groupMs === null ? null : route.groupMs / 1000,
        }),
      ) ?? null,
  });
}
