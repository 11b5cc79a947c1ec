/** A token that is bound to a node acts as that node alone (docs/interface.md#node-binding). */
import type { Principal } from "./principal.ts";

/** `named` is the node that the request names; null: none. Whether there is such a node plays no part. */
export function mayActAs({ node }: Principal, named: string | null): boolean {
  return node === null || node === named;
}
