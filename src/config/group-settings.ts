/** The file of what operators set for hostgroups by the API (mitigation/group-settings.ts), which the service owns. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SettingsFile } from "../mitigation/group-settings.ts";
import { takeShape } from "../schema/shape.ts";

const STATE_DIR_DEFAULT = "/var/lib/floodwall";
/** The name of the file in `state_dir`. */
export const SETTINGS_FILE = "hostgroup-settings.json";

/** A line for each hostgroup of which something is set, for people. */
export function settingsLines(
  path: string,
  settings: SettingsFile["hostgroups"],
  names: ReadonlySet<string>,
): string[] {
  return Object.entries(settings).map(([name, { thresholds = {}, by, mitigation, protected_whitelist: listed }]) => {
    const keys = [
      ...Object.keys(thresholds).map((metric) => `thresholds.${metric}`),
      ...(mitigation === undefined ? [] : ["mitigation"]),
      ...(listed === undefined ? [] : ["protected_whitelist"]),
    ];
    const gone = names.has(name) ? "" : ": has no effect, since there is no such hostgroup";
    return `${path}: hostgroup ${name}: set by the API${by === undefined ? "" : `, by ${by}`}: ${keys.join(", ")}${gone}`;
  });
}

/** Empty if the file is absent; null: it cannot be read, or has errors, which the configuration reports. */
export function readSettings(path: string): SettingsFile["hostgroups"] | null {
  if (!existsSync(path)) return {};
  try {
    const { file, findings } = takeShape(SettingsFile, JSON.parse(readFileSync(path, "utf8")));
    return findings.length === 0 ? (file as SettingsFile).hostgroups : null;
  } catch {
    return null;
  }
}

/** @param stateDir as in the configuration; null: the default. */
export function settingsPath(stateDir: string | null): string {
  return join(stateDir ?? STATE_DIR_DEFAULT, SETTINGS_FILE);
}
