/**
 * Settings of operators for a hostgroup by the API: thresholds, the method and addresses that are never banned. It is
 * applied over the configuration at each reading of it.
 */
import { type Static, Type } from "@sinclair/typebox";
import { GROUP_WHITELIST_MAX, HOSTGROUPS_MAX } from "../limits.ts";
import { closedObject, list, oneOf, text } from "../schema/schema-forms.ts";
import { BASE_TRIO, METRICS } from "../traffic/rates.ts";

/** Those that are set; the base trio cannot be off. */
const SomeThresholds = closedObject(
  Object.fromEntries(
    METRICS.map((name, i) => [
      name,
      Type.Optional(Type.Number(i < BASE_TRIO ? { exclusiveMinimum: 0 } : { minimum: 0 })),
    ]),
  ),
);

export const GroupSettings = closedObject({
  thresholds: Type.Optional(SomeThresholds),
  mitigation: Type.Optional(oneOf("blackhole", "flowspec", "divert", "scrub")),
  protected_whitelist: Type.Optional(list(text("addressOrPrefix"), GROUP_WHITELIST_MAX)),
  /** Name of the token, and when, as RFC 3339: for readers. */
  by: Type.Optional(Type.String()),
  at: Type.Optional(Type.String()),
});
export type GroupSettings = Static<typeof GroupSettings>;

export const SettingsFile = closedObject({
  hostgroups: Type.Record(Type.String(), GroupSettings, { maxProperties: HOSTGROUPS_MAX + 1 }),
});
export type SettingsFile = Static<typeof SettingsFile>;
