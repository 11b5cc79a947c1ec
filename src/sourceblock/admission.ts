/**
 * Whether a source may be blocked for a victim now. The checks and their order:
 * docs/interface.md#source-block-refusals.
 */
import { VICTIMS_PER_SOURCE } from "../limits.ts";
import type { IpAddress } from "../net/address.ts";
import type { Pair } from "./source-block.ts";

export interface SourceBlockPolicy {
  readonly dryRun: boolean;
  /** The data plane is configured and enabled. */
  readonly hasDataplane: boolean;
  readonly maxDynamicRules: number;
  readonly maxActiveBans: number;
  /** Kept free for each of these. */
  readonly slotsPerBan: number;
  isWhitelisted(victim: IpAddress): boolean;
  /** Whether the service itself needs the address. */
  isOwn(victim: IpAddress): boolean;
  isAllowlisted(source: IpAddress): boolean;
  isInNetworks(ip: IpAddress): boolean;
}

/** Refusals that depend only on the pair and the configuration; checked again at every reload. */
export const PAIR_REFUSALS = [
  "victim_whitelisted",
  "victim_outside_networks",
  "victim_is_own_infrastructure",
  "source_allowlisted",
  "source_in_networks",
] as const;
export type PairRefusal = (typeof PAIR_REFUSALS)[number];

export const BLOCK_REFUSALS = ["no_dataplane", ...PAIR_REFUSALS, "too_many_victims", "no_slots"] as const;
export type BlockRefusal = (typeof BLOCK_REFUSALS)[number];

export interface BlocksInForce {
  /** The pair has a block already, and needs no further slot. */
  readonly isBlocked: boolean;
  /** Number of victims for which the source is blocked. */
  readonly victims: number;
  readonly pairs: number;
}

/** null: the pair may be blocked. */
export function blockRefusal(pair: Pair, policy: SourceBlockPolicy, blocks: BlocksInForce): BlockRefusal | null {
  if (!policy.hasDataplane) return "no_dataplane";
  const refusal = pairRefusal(pair, policy);
  if (refusal !== null) return refusal;
  if (blocks.isBlocked) return null;
  if (blocks.victims >= VICTIMS_PER_SOURCE) return "too_many_victims";
  return slotsFree(policy, blocks.pairs) > 0 ? null : "no_slots";
}

export function pairRefusal({ source, victim }: Pair, policy: SourceBlockPolicy): PairRefusal | null {
  if (policy.isWhitelisted(victim)) return "victim_whitelisted";
  if (!policy.isInNetworks(victim)) return "victim_outside_networks";
  if (policy.isOwn(victim)) return "victim_is_own_infrastructure";
  if (policy.isAllowlisted(source)) return "source_allowlisted";
  return policy.isInNetworks(source) ? "source_in_networks" : null;
}

/** Free slots for further pairs. Slots for the maximum number of bans are reserved. */
export function slotsFree(policy: SourceBlockPolicy, pairs: number): number {
  const { hasDataplane, maxDynamicRules, maxActiveBans, slotsPerBan } = policy;
  return hasDataplane ? Math.max(0, maxDynamicRules - pairs - slotsPerBan * maxActiveBans) : 0;
}
