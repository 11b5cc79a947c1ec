/** Settings of `telemetry` that are valid, and by which traffic may be counted twice or by records of others. */
import type { Finding } from "../../schema/shape.ts";
import type { ExporterConfig } from "../../telemetry/telemetry-config.ts";
import type { Config } from "../config.ts";

/** The shortest prefixes that exporters of one operator send from. */
const WIDEST = { 4: 16, 6: 32 } as const;

export function* telemetryWarnings({ telemetry, capture }: Config): Generator<Finding> {
  if (telemetry === null) return;
  const { exporters } = telemetry;
  const at = ["telemetry", "exporters"];
  for (const [i, { prefix, direction, external, internal }] of exporters.entries()) {
    if (prefix.length < WIDEST[prefix.family]) {
      const rule = `${prefix.text} is wide: any host that sends from it, or forges such an address, can have hosts banned`;
      yield { path: [...at, i, "address"], rule };
    }
    if (direction === "both" && external === null && internal === null) {
      const rule =
        "both without interfaces: a packet that comes in and goes out counts twice; name interfaces.external";
      yield { path: [...at, i, "direction"], rule };
    }
  }
  yield* siteWarnings(exporters);
  const plain = exporters.filter(
    ({ external, internal, site }) => external === null && internal === null && site === null,
  );
  const many = plain.length > 1 || plain.some(({ prefix: { family, length } }) => length < (family === 4 ? 32 : 128));
  if (many) {
    const rule =
      "several have neither interfaces nor a site: a packet that passes two of them counts twice (docs/operations/flow-telemetry.md)";
    yield { path: at, rule };
  }
  const packets = capture === null ? 0 : capture.interfaces.length + capture.tunnels.length;
  if (packets > 0 || capture?.pcapFile != null) {
    const rule = "is beside capture: a packet that both see counts twice, so each must see links of its own";
    yield { path: ["telemetry"], rule };
  }
}

function* siteWarnings(exporters: readonly ExporterConfig[]): Generator<Finding> {
  const bySite = Map.groupBy(exporters.entries(), ([, { site }]) => site);
  for (const [site, [first, ...others]] of bySite) {
    if (site === null || first === undefined || others.length > 0) continue;
    const [i, { prefix }] = first;
    if (prefix.length < (prefix.family === 4 ? 32 : 128)) continue;
    yield {
      path: ["telemetry", "exporters", i, "site"],
      rule: `${site} has no other exporter: a site says which of several see the same packets`,
    };
  }
}
