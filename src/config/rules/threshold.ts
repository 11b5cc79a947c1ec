/** Rules between the thresholds of the configuration. */
import type { ConfigPath } from "../../schema/problem.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import type { ConfigFile } from "../sections/schema.ts";

type File = Pruned<ConfigFile>;

export function* carpetThresholdsSaySomething({ carpet }: File): Generator<Finding> {
  const thresholds = carpet?.thresholds;
  if (thresholds !== undefined && Object.values(thresholds).every((value) => value === 0)) {
    yield fault(["carpet", "thresholds"]);
  }
}

/** A section without values would look as if outgoing traffic were judged. */
export function* outgoingThresholdsSaySomething({
  thresholds_outgoing: outgoing,
  hostgroups,
}: File): Generator<Finding> {
  const values = Object.values(outgoing ?? {});
  if (outgoing !== undefined && values.every((value) => value === 0)) yield fault(["thresholds_outgoing"]);
  for (const [i, group] of (hostgroups ?? []).entries()) {
    const own = group?.thresholds_outgoing;
    // A group may switch off an inherited baseline.
    if (own === undefined || Object.keys(own).length > 0) continue;
    yield fault(["hostgroups", i, "thresholds_outgoing"]);
  }
}

/** Without a floor, own or inherited, a learned limit could be close to zero. */
export function* groupBaselinesHaveAFloor({ baseline, hostgroups }: File): Generator<Finding> {
  if (baseline !== undefined) return;
  for (const [i, group] of (hostgroups ?? []).entries()) {
    const own = group?.baseline;
    if (own === undefined || own.enabled === false) continue;
    const missing = ["pps", "mbps", "flows_per_sec"].filter((metric) => !(metric in (own.floor ?? {})));
    if (missing.length === 0) continue;
    const rule = `needs ${missing.join(", ")}: add them, or a baseline for all, from which they are inherited`;
    yield { path: ["hostgroups", i, "baseline", "floor"], rule };
  }
}

function fault(path: ConfigPath): Finding {
  return { path, rule: "needs at least one threshold: add pps, mbps or flows_per_sec, or remove it" };
}
