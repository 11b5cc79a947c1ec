/** Operators' settings of a hostgroup by the API (docs/interface.md#hostgroup-settings). */

import { type Static, Type } from "@sinclair/typebox";
import { GROUP_WHITELIST_MAX } from "../../limits.ts";
import { GroupSettings } from "../../mitigation/group-settings.ts";
import { closedObject, oneOf } from "../../schema/schema-forms.ts";
import { takeShape } from "../../schema/shape.ts";
import { Timestamp } from "../../schema/timestamp.ts";
import { METRICS } from "../../traffic/rates.ts";
import { invalidBody } from "../refusal.ts";
import type { FieldCheck } from "../server/fields.ts";
import { plainTextFault } from "./plain-text.ts";

/** Characters of the reason of a hostgroup's settings. */
const SETTINGS_REASON_MAX = 200;

const Limit = Type.Number({ minimum: 0 });

const FIELDS = {
  /** Those that are set; the others are as configured. 0 is off, but for pps, mbps and flows_per_sec. */
  thresholds: Type.Optional(closedObject(Object.fromEntries(METRICS.map((name) => [name, Type.Optional(Limit)])))),
  mitigation: Type.Optional(oneOf("blackhole", "flowspec", "divert", "scrub")),
  /** Addresses and prefixes of the hostgroup that are never banned, beside those of the configuration. */
  protected_whitelist: Type.Optional(Type.Array(Type.String(), { maxItems: GROUP_WHITELIST_MAX })),
};

export const GroupSettingsWire = closedObject({
  ...FIELDS,
  by: Type.Optional(Type.String()),
  at: Type.Optional(Timestamp),
});
export type GroupSettingsWire = Static<typeof GroupSettingsWire>;

export const SettingsAnswerWire = closedObject({
  hostgroup: Type.String(),
  /** Absent: nothing is set any more. */
  settings: Type.Optional(GroupSettingsWire),
  /** `web: thresholds.pps: 1000 → 2000`. */
  changes: Type.Array(Type.String()),
});
export type SettingsAnswerWire = Static<typeof SettingsAnswerWire>;

export interface SettingsOrder {
  readonly settings: GroupSettings;
  readonly reason: string;
}

const SettingsRequest = closedObject(
  { ...FIELDS, reason: Type.Optional(Type.String({ maxLength: SETTINGS_REASON_MAX })) },
  { minProperties: 1 },
);

export const settingsCheck: FieldCheck<SettingsOrder> = {
  schema: SettingsRequest,
  check(value) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return invalidBody("not an object");
    const { reason = "", ...rest } = value as Record<string, unknown>;
    for (const name of ["by", "at"]) if (name in rest) return invalidBody(`unknown field "${name}"`);
    if (typeof reason !== "string") return invalidBody("reason must be a string");
    const fault = plainTextFault("reason", reason, SETTINGS_REASON_MAX);
    if (fault !== null) return invalidBody(fault);
    if (Object.keys(rest).length === 0)
      return invalidBody("set thresholds, mitigation or protected_whitelist, or use DELETE");
    const { file, findings } = takeShape(GroupSettings, rest);
    const [finding] = findings;
    if (finding !== undefined) return invalidBody(`${finding.path.join(".")}: ${finding.rule}`);
    // Without findings nothing was removed.
    return { kind: "fields", fields: { settings: settingsOf(file as GroupSettings), reason: reason.toWellFormed() } };
  },
};

/** Without what is empty, which sets nothing. */
function settingsOf({ thresholds, mitigation, protected_whitelist: listed }: GroupSettings): GroupSettings {
  return {
    ...(thresholds !== undefined && Object.keys(thresholds).length > 0 && { thresholds }),
    ...(mitigation !== undefined && { mitigation }),
    ...(listed !== undefined && listed.length > 0 && { protected_whitelist: listed }),
  };
}
