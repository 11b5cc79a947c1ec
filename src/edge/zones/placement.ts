/**
 * Which zones a node serves (docs/interface.md#zone-document-scope): those without a hostgroup, and those of the
 * hostgroups that it lists.
 */
import type { Zone } from "./zone.ts";

/** For a node that lists no hostgroups. */
const DEFAULT_SCOPE: readonly string[] = ["global"];

/** The hostgroups whose zones a node serves. */
export function scopeOf({ hostgroups }: { readonly hostgroups: readonly string[] | null }): readonly string[] {
  return hostgroups ?? DEFAULT_SCOPE;
}

export function isPlaced({ hostgroup }: Pick<Zone, "hostgroup">, scope: readonly string[]): boolean {
  return hostgroup === null || scope.includes(hostgroup);
}
