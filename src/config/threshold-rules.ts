/** Rules between the keys that say when traffic is an attack. */
import type { ConfigPath } from "./problem.ts";
import type { ConfigFile } from "./schema.ts";
import type { Finding, Pruned } from "./shape.ts";

type File = Pruned<ConfigFile>;

/** A section without a value would look as if what hosts send were judged. */
export function* outgoingThresholdsSaySomething({
  thresholds_outgoing: outgoing,
  hostgroups,
}: File): Generator<Finding> {
  const values = Object.values(outgoing ?? {});
  if (outgoing !== undefined && values.every((value) => value === 0)) yield fault(["thresholds_outgoing"]);
  for (const [i, group] of (hostgroups ?? []).entries()) {
    const own = group?.thresholds_outgoing;
    // A group may switch off what it inherits.
    if (own === undefined || Object.keys(own).length > 0) continue;
    yield fault(["hostgroups", i, "thresholds_outgoing"]);
  }
}

function fault(path: ConfigPath): Finding {
  return { path, rule: "needs at least one threshold: add pps, mbps or flows_per_sec, or remove it" };
}
