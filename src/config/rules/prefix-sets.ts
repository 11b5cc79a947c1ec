/** Rules between the keys of `prefix_sets`. */
import { BUILT_IN_SETS } from "../../prefixset/prefix-set-config.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import type { PrefixSetFile } from "../sections/prefix-sets.ts";
import type { ConfigFile } from "../sections/schema.ts";
import { repeated } from "./repeated.ts";

type Sets = Pick<Pruned<ConfigFile>, "prefix_sets">;

export function* prefixSetNamesAreUnique({ prefix_sets: sets }: Sets): Generator<Finding> {
  for (const [name, i, other] of repeated(sets?.map((set) => set?.name))) {
    yield { path: ["prefix_sets", i, "name"], rule: `${name} is there already, as prefix_sets[${other}]` };
  }
}

export function* prefixSetsHaveOneSource({ prefix_sets: sets }: Sets): Generator<Finding> {
  for (const [i, set] of (sets ?? []).entries()) {
    const rule = set === undefined ? null : sourceRule(set);
    if (rule !== null) yield { path: ["prefix_sets", i, ...rule.at], rule: rule.text };
  }
}

/** A key whose value was wrong is there, with no value. */
function sourceRule(set: Pruned<PrefixSetFile>): { readonly at: readonly string[]; readonly text: string } | null {
  const hasOrigins = "countries" in set || "autonomous_systems" in set;
  if ("file" in set && "mmdb" in set) return { at: ["mmdb"], text: "goes without file: use one of them" };
  if ("mmdb" in set) {
    return hasOrigins ? null : { at: ["mmdb"], text: "needs countries or autonomous_systems: whose prefixes to take" };
  }
  if (hasOrigins) {
    const at = "countries" in set ? "countries" : "autonomous_systems";
    return { at: [at], text: "needs mmdb, the file that has them" };
  }
  if ("file" in set || BUILT_IN_SETS.some((name) => name === set.name)) return null;
  return { at: [], text: `needs file or mmdb: only ${BUILT_IN_SETS.join(", ")} is built in` };
}
