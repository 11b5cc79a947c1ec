/** The names of the configuration, from the status. */
import { signal } from "@preact/signals";
import type { StatusWire } from "../../src/http/wire/status.ts";
import { type KnownNames, knownNames } from "../text/known-names.ts";

/** The same object as long as they are the same. */
export const names = signal<KnownNames>(new Map());

export function readNames(status: Pick<StatusWire, "bgp" | "scrubbing">): void {
  const read = knownNames(status);
  const known = names.peek();
  const isSame = read.size === known.size && [...read].every(([address, name]) => known.get(address) === name);
  if (!isSame) names.value = read;
}
