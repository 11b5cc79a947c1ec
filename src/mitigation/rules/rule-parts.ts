/** Divides a rule with more ranges than a FlowSpec component holds into rules that together match the same. Pure. */
import type { Range } from "../../net/range.ts";
import type { Rule } from "./rule.ts";

/** Some routers take no more values in one component (src/bgp/flowspec-nlri.ts). */
const VALUES_MAX = 5;
const VALUE_MAX = { protocols: 0xff, sourcePorts: 0xffff, destinationPorts: 0xffff } as const;

export function fittingParts(rule: Rule): readonly Rule[] {
  let parts: readonly Rule[] = [rule];
  for (const field of ["protocols", "sourcePorts", "destinationPorts"] as const) {
    parts = parts.flatMap((part) => {
      const lists = fitting(part[field], VALUE_MAX[field]);
      return lists.length === 1 ? [part] : lists.map((ranges) => ({ ...part, [field]: ranges }));
    });
  }
  return parts;
}

/** Any value is one empty list. */
function fitting(ranges: readonly Range[], most: number): readonly (readonly Range[])[] {
  const lists: Range[][] = [[]];
  let values = 0;
  for (const range of ranges) {
    const own = range.from === range.to || range.from === 0 || range.to === most ? 1 : 2;
    if (values + own > VALUES_MAX) {
      lists.push([]);
      values = 0;
    }
    lists.at(-1)?.push(range);
    values += own;
  }
  return lists;
}
