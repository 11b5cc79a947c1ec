/** Rules between the keys of `order_templates`, and with `bgp.neighbors`. */
import { neighborText, orderFindings } from "../../mitigation/order/order-file.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import type { ConfigFile } from "../sections/schema.ts";

type File = Pruned<ConfigFile>;

export function* orderTemplatesAreWhole({ order_templates: templates, bgp }: File): Generator<Finding> {
  const first = new Map<string, number>();
  for (const [i, template] of (templates ?? []).entries()) {
    if (template === undefined) continue;
    const { name, ...order } = template;
    const path = ["order_templates", i];
    for (const finding of orderFindings(order)) yield { ...finding, path: [...path, ...finding.path] };
    const other = name === undefined ? undefined : first.get(name);
    if (other !== undefined) yield { path: [...path, "name"], rule: `is there already, as order_templates[${other}]` };
    else if (name !== undefined) first.set(name, i);
    for (const [at, neighbor] of (order.neighbors ?? []).entries()) {
      if (neighbor === undefined) continue;
      const named = neighborText(neighbor);
      const isThere = bgp?.neighbors?.some((one) => neighborText(one?.address ?? "") === named || one?.name === named);
      if (isThere === true) continue;
      yield {
        path: [...path, "neighbors", at],
        rule: `${neighbor} is none of bgp.neighbors: add it there, or correct it`,
      };
    }
  }
}
