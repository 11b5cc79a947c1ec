/**
 * What operators set for hostgroups by the API: thresholds, the method and addresses that are never banned. The service
 * owns the file, which is applied over the configuration at each reading of it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { GROUP_WHITELIST_MAX, HOSTGROUPS_MAX } from "../limits.ts";
import { closed, list, oneOf, text } from "../schema/schema-forms.ts";
import { takeShape } from "../schema/shape.ts";
import { SomeThresholds } from "./load/threshold-forms.ts";

const STATE_DIR_DEFAULT = "/var/lib/floodwall";

export const GroupSettings = Type.Object(
  {
    thresholds: Type.Optional(SomeThresholds),
    mitigation: Type.Optional(oneOf("blackhole", "flowspec", "divert", "scrub")),
    protected_whitelist: Type.Optional(list(text("addressOrPrefix"), GROUP_WHITELIST_MAX)),
    /** Name of the token, and when, as RFC 3339: for readers. */
    by: Type.Optional(Type.String()),
    at: Type.Optional(Type.String()),
  },
  closed,
);
export type GroupSettings = Static<typeof GroupSettings>;

export const SettingsFile = Type.Object(
  { hostgroups: Type.Record(Type.String(), GroupSettings, { maxProperties: HOSTGROUPS_MAX + 1 }) },
  closed,
);
export type SettingsFile = Static<typeof SettingsFile>;

/** A line for each hostgroup of which something is set, for people. */
export function settingsLines(
  path: string,
  settings: SettingsFile["hostgroups"],
  names: ReadonlySet<string>,
): string[] {
  return Object.entries(settings).map(([name, { thresholds = {}, by, at: _, ...others }]) => {
    const keys = [...Object.keys(thresholds).map((metric) => `thresholds.${metric}`), ...Object.keys(others)];
    const gone = names.has(name) ? "" : ": has no effect, since there is no such hostgroup";
    return `${path}: hostgroup ${name}: set by the API${by === undefined ? "" : `, by ${by}`}: ${keys.join(", ")}${gone}`;
  });
}

/** Empty: the file is absent, or has errors, which the configuration reports. */
export function readSettings(stateDir: string): SettingsFile["hostgroups"] {
  try {
    const { file, findings } = takeShape(SettingsFile, JSON.parse(readFileSync(settingsPath(stateDir), "utf8")));
    return findings.length === 0 ? (file as SettingsFile).hostgroups : {};
  } catch {
    return {};
  }
}

/** @param stateDir as in the configuration; null: the default. */
export function settingsPath(stateDir: string | null): string {
  return join(stateDir ?? STATE_DIR_DEFAULT, "hostgroup-settings.json");
}
