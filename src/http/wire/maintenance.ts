/** Maintenance windows, and the order that opens one (docs/interface.md#maintenance). */
import { type Static, Type } from "@sinclair/typebox";
import { MAINTENANCE_AHEAD_SECONDS_MAX, MAINTENANCE_REASON_MAX, MAINTENANCE_SECONDS_MAX } from "../../limits.ts";
import type { WindowView } from "../../mitigation/maintenance/maintenance-windows.ts";
import { targetFindings, WINDOW_KEYS, type WindowTargets } from "../../mitigation/maintenance/window-file.ts";
import { closedObject, integer, oneOf } from "../../schema/schema-forms.ts";
import { takeShape } from "../../schema/shape.ts";
import { parseTimestamp, Timestamp, timestamp } from "../../schema/timestamp.ts";
import { invalidBody } from "../refusal.ts";
import type { FieldCheck } from "../server/fields.ts";
import { withoutFormats } from "./filter-rule.ts";
import { plainTextFault } from "./plain-text.ts";
import { KEPT_FIELDS, SETTLED, savedToWire } from "./saved.ts";

/** The shortest is a minute. */
const TTL = integer(60, MAINTENANCE_SECONDS_MAX);
const OpensAt = Type.Optional(Type.String());
const OrderFile = closedObject({ ...WINDOW_KEYS, ttl_seconds: TTL, opens_at: OpensAt });

export interface WindowRequest {
  readonly targets: WindowTargets;
  readonly ttlSeconds: number;
  /** Wall clock, ms; null: at once. */
  readonly opensAtMs: number | null;
}

const { name, ...others } = WINDOW_KEYS;
const optional = Object.fromEntries(
  Object.entries(withoutFormats(others) as typeof others).map(([key, schema]) => [key, Type.Optional(schema)]),
);

/** @param groups names of the hostgroups of the configuration in force. */
export function windowCheck(groups: () => readonly string[], wallMs: () => number): FieldCheck<WindowRequest> {
  return {
    schema: closedObject({
      name: withoutFormats(name) as typeof name,
      ...optional,
      ttl_seconds: TTL,
      opens_at: OpensAt,
    }),
    check(value) {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return invalidBody("not an object");
      const { file, findings } = takeShape(OrderFile, value);
      const { ttl_seconds: ttlSeconds, opens_at: opensAt, ...targets } = file as Static<typeof OrderFile>;
      const [finding] = [...findings, ...(findings.length > 0 ? [] : targetFindings(targets, groups()))];
      if (finding !== undefined) return invalidBody(`${finding.path.join(".")}: ${finding.rule}`);
      const opensAtMs = opensAt === undefined ? null : parseTimestamp(opensAt);
      const fault =
        plainTextFault("reason", targets.reason ?? "", MAINTENANCE_REASON_MAX) ??
        (opensAt === undefined ? null : openingFault(opensAtMs, wallMs()));
      return fault === null ? { kind: "fields", fields: { targets, ttlSeconds, opensAtMs } } : invalidBody(fault);
    },
  };
}

function openingFault(opensAtMs: number | null, wallMs: number): string | null {
  if (opensAtMs === null) return "opens_at: must be a time as 2026-03-01T02:00:00Z";
  if (opensAtMs <= wallMs) return "opens_at: is over; without it the window opens at once";
  if (opensAtMs - wallMs <= MAINTENANCE_AHEAD_SECONDS_MAX * 1000) return null;
  return `opens_at: at most ${MAINTENANCE_AHEAD_SECONDS_MAX / 86_400} days ahead; write later ones into maintenance of the configuration`;
}

const Texts = Type.Array(Type.String());

export const MaintenanceWire = closedObject({
  name: Type.String(),
  /** Both empty: all targets. */
  hostgroups: Texts,
  prefixes: Texts,
  watch_only: Type.Boolean(),
  quiet: Type.Boolean(),
  threshold_factor: Type.Number(),
  reason: Type.String(),
  origin: oneOf("configuration", "order"),
  open: Type.Boolean(),
  /** While it is open. */
  until: Type.Optional(Timestamp),
  /** Absent: never again. */
  opens_at: Type.Optional(Timestamp),
  /** With `opens_at`: when it closes after that. */
  closes_at: Type.Optional(Timestamp),
  /** Name of the token that opened it. */
  operator: Type.Optional(Type.String()),
  ...KEPT_FIELDS,
});
export type MaintenanceWire = Static<typeof MaintenanceWire>;
export const MaintenancesWire = closedObject({ windows: Type.Array(MaintenanceWire) });
export type MaintenancesWire = Static<typeof MaintenancesWire>;

export function windowToWire({ window, order, openUntil, opensNext }: WindowView, settled = SETTLED): MaintenanceWire {
  return {
    name: window.name,
    hostgroups: [...window.hostgroups],
    prefixes: window.prefixes.map(({ text }) => text),
    watch_only: window.watchOnly,
    quiet: window.quiet,
    threshold_factor: window.thresholdFactor,
    reason: window.reason,
    origin: order === null ? "configuration" : "order",
    open: openUntil !== null,
    ...(openUntil !== null && { until: timestamp(openUntil) }),
    ...(opensNext !== null && { opens_at: timestamp(opensNext.atMs), closes_at: timestamp(opensNext.untilMs) }),
    ...(order !== null && order.operator !== "" && { operator: order.operator }),
    ...savedToWire(settled),
  };
}
