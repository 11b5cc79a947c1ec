/**
 * Whether a source may be blocked for a victim now. The checks and their order:
 * docs/interface.md#source-block-refusals.
 */
import type { Callers, Overrun } from "../access/shares.ts";
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
  /** Slots of what is in the kernel by configuration, whether or not there is an attack. */
  readonly standingRules: number;
  /** The callers that may give orders. */
  readonly callers: Callers;
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
type PairRefusal = (typeof PAIR_REFUSALS)[number];

/** Refusals of tenants only. */
const SHARE_REFUSALS = ["victims_over_share", "slots_over_share"] as const;

export const BLOCK_REFUSALS = [
  "no_dataplane",
  ...PAIR_REFUSALS,
  "too_many_victims",
  "no_slots",
  ...SHARE_REFUSALS,
] as const;
export type BlockRefusal = (typeof BLOCK_REFUSALS)[number];

interface BlocksInForce {
  /** The pair has a block already, and needs no further slot. */
  readonly isBlocked: boolean;
  /** Whether a further victim of the source is too many, of all or of the caller. */
  readonly victims: Overrun | null;
  /** The same for a further slot. */
  readonly slots: Overrun | null;
}

/** null: the pair may be blocked. */
export function blockRefusal(pair: Pair, policy: SourceBlockPolicy, blocks: BlocksInForce): BlockRefusal | null {
  if (!policy.hasDataplane) return "no_dataplane";
  const refusal = pairRefusal(pair, policy);
  if (refusal !== null) return refusal;
  if (blocks.isBlocked) return null;
  if (blocks.victims !== null) return blocks.victims === "full" ? "too_many_victims" : "victims_over_share";
  if (blocks.slots === null) return null;
  return blocks.slots === "full" ? "no_slots" : "slots_over_share";
}

export function pairRefusal({ source, victim }: Pair, policy: SourceBlockPolicy): PairRefusal | null {
  const refusal = victimRefusal(victim, policy);
  if (refusal !== null) return refusal;
  if (policy.isAllowlisted(source)) return "source_allowlisted";
  return policy.isInNetworks(source) ? "source_in_networks" : null;
}

/** Whatever the source is. */
export function victimRefusal(victim: IpAddress, policy: SourceBlockPolicy): PairRefusal | null {
  if (policy.isWhitelisted(victim)) return "victim_whitelisted";
  if (!policy.isInNetworks(victim)) return "victim_outside_networks";
  return policy.isOwn(victim) ? "victim_is_own_infrastructure" : null;
}

/**
 * Slots for source blocks and the rules of chosen protections. Those for the maximum number of bans and for what the
 * configuration always has in the kernel are reserved. @param ordered those of filter rules.
 */
export function slotsFor(policy: SourceBlockPolicy, ordered: number): number {
  const { hasDataplane, maxDynamicRules, maxActiveBans, slotsPerBan, standingRules } = policy;
  const reserved = slotsPerBan * maxActiveBans + standingRules + ordered;
  return hasDataplane ? Math.max(0, maxDynamicRules - reserved) : 0;
}
