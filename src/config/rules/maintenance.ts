/** Rules between the keys of `maintenance`, and with `hostgroups`. */
import { targetFindings, timeFindings } from "../../mitigation/maintenance/window-file.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import type { ConfigFile } from "../sections/schema.ts";

export function* windowsAreWhole({ maintenance, hostgroups }: Pruned<ConfigFile>): Generator<Finding> {
  const groups = hostgroups?.map((group) => group?.name);
  const first = new Map<string, number>();
  for (const [i, window] of (maintenance ?? []).entries()) {
    if (window === undefined) continue;
    const path = ["maintenance", i];
    for (const finding of [...targetFindings(window, groups), ...timeFindings(window)]) {
      yield { ...finding, path: [...path, ...finding.path] };
    }
    const other = window.name === undefined ? undefined : first.get(window.name);
    if (other !== undefined) yield { path: [...path, "name"], rule: `is there already, as maintenance[${other}]` };
    else if (window.name !== undefined) first.set(window.name, i);
  }
}
