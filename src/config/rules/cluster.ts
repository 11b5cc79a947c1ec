/** Rules between the keys of `cluster`. */
import type { Finding, Pruned } from "../../schema/shape.ts";
import { parseListen } from "../../schema/text-forms.ts";
import type { ConfigFile } from "../sections/schema.ts";
import { repeated } from "./repeated.ts";

type File = Pruned<ConfigFile>;

export function* brainNamesAreUnique({ cluster }: File): Generator<Finding> {
  for (const [name, i, other] of repeated(cluster?.brains?.map((brain) => brain?.name))) {
    yield { path: ["cluster", "brains", i, "name"], rule: `${name} is there already, as cluster.brains[${other}]` };
  }
}

export function* brainsAreTheOthers({ cluster }: File): Generator<Finding> {
  for (const [i, brain] of (cluster?.brains ?? []).entries()) {
    if (brain?.name === undefined || brain.name !== cluster?.name) continue;
    yield { path: ["cluster", "brains", i, "name"], rule: `${brain.name} is this brain: list only the others` };
  }
}

/** The first that ends a diversion would take it from the others. */
export function* hookGoesWithOneBrain({ cluster, scrubbing }: File): Generator<Finding> {
  if (cluster === undefined || scrubbing?.hook === undefined) return;
  const rule =
    "goes without cluster: each brain would call it, and the first that ends a diversion ends that of the others";
  yield { path: ["scrubbing", "hook"], rule };
}

export function* clusterPortIsFree({ cluster, api }: File): Generator<Finding> {
  const [own, other] = [parseListen(cluster?.listen ?? ""), parseListen(api?.listen ?? "")];
  if (own === null || other === null || own.port === 0 || own.port !== other.port || own.host !== other.host) return;
  yield { path: ["cluster", "listen"], rule: `is the address of api.listen: choose another port than ${own.port}` };
}
