/** Bans and documents that a scrub node got and does not enforce, as values and in words. Pure. */

/** Why a ban is not in force on a node. */
export interface NodeFault {
  readonly kind: "refused" | "not_applied";
  readonly reason: string;
}

export interface NodeFaults {
  /** Number of bans, and the first of them. */
  readonly refusedBans: number;
  readonly refusals: readonly { readonly prefix: string; readonly reason: string }[];
  /** Wall clock, ms: since when it has a document that it did not put in force in time; null: none. */
  readonly notAppliedSince: number | null;
}

export const NO_FAULTS: NodeFaults = { refusedBans: 0, refusals: [], notAppliedSince: null };

/** As in `it refuses 2 bans, first 203.0.113.7/32: not inside of bounds.networks`. */
export function nodeFaultsText({ refusedBans, refusals: [first], notAppliedSince }: NodeFaults): string {
  const since = notAppliedSince === null ? null : new Date(notAppliedSince).toISOString();
  const late = since === null ? [] : [`it has not put in force what it got at ${since}`];
  if (refusedBans === 0) return late.join();
  const named = first === undefined ? "" : `, first ${first.prefix}: ${first.reason}`;
  return [...late, `it refuses ${refusedBans} ${refusedBans === 1 ? "ban" : "bans"}${named}`].join("; ");
}
