/** Applies what the API set for hostgroups to a configuration as it was read. */

import { SettingsFile } from "../../mitigation/group-settings.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import { type Finding, takeShape } from "../../schema/shape.ts";

type Mapping = Record<string, unknown>;

interface AppliedSettings {
  readonly findings: readonly Finding[];
  /** Places of each setting: its path in the configuration, and in the file of settings. */
  readonly places: readonly (readonly [at: ConfigPath, from: ConfigPath])[];
}

/** Changes `value` and its hostgroups. Settings of hostgroups that are no more have no effect. */
export function applySettings(value: Mapping, groups: readonly unknown[], settings: unknown): AppliedSettings {
  if (typeof settings !== "object" || settings === null) {
    return { findings: [{ path: [], rule: "must have hostgroups: remove the file to set nothing" }], places: [] };
  }
  const { file, findings } = takeShape(SettingsFile, settings);
  const places: (readonly [ConfigPath, ConfigPath])[] = [];
  for (const [name, own] of Object.entries(file.hostgroups ?? {})) {
    const index = groups.findIndex((group) => nameOf(group) === name);
    if (own === undefined || (index < 0 && name !== "global")) continue;
    const target = index < 0 ? value : (groups[index] as Mapping);
    const at = index < 0 ? [] : ["hostgroups", index];
    const from = ["hostgroups", name];
    if (own.thresholds !== undefined) {
      const before = target["thresholds"];
      target["thresholds"] = { ...(typeof before === "object" ? before : {}), ...own.thresholds };
      for (const metric of Object.keys(own.thresholds)) {
        places.push([
          [...at, "thresholds", metric],
          [...from, "thresholds", metric],
        ]);
      }
    }
    if (own.mitigation !== undefined) {
      target["mitigation"] = own.mitigation;
      places.push([
        [...at, "mitigation"],
        [...from, "mitigation"],
      ]);
    }
    const listed: unknown = value["protected_whitelist"];
    const before: unknown[] = Array.isArray(listed) ? listed : [];
    const added = own.protected_whitelist ?? [];
    if (added.length > 0) value["protected_whitelist"] = [...before, ...added];
    for (const i of added.keys()) {
      places.push([
        ["protected_whitelist", before.length + i],
        [...from, "protected_whitelist", i],
      ]);
    }
  }
  return { findings, places };
}

function nameOf(group: unknown): unknown {
  return typeof group === "object" && group !== null ? (group as Mapping)["name"] : undefined;
}
