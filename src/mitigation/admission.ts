/** Whether an address may be banned now. The checks and their order: choices, section 3, ban reasons. */
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";

export interface AdmissionPolicy {
  isWhitelisted(target: IpAddress): boolean;
  isInNetworks(target: IpAddress): boolean;
  readonly maxActiveBans: number;
  /** Of the addresses of a family; 0: no such bound. */
  readonly maxBannedFraction: number;
  /** Addresses in all configured networks. */
  addresses(family: Prefix["family"]): number;
}

export type Admission =
  | { readonly kind: "admitted" }
  /** The prefix has an active ban already. */
  | { readonly kind: "refresh" }
  | { readonly kind: "refused"; readonly reason: Refusal };

export type Refusal =
  | "whitelisted"
  | "outside configured networks"
  | "cooldown after unban"
  | "max_active_bans reached"
  | "max_banned_fraction reached";

export interface BansInForce {
  /** The prefix has one. */
  readonly isBanned: boolean;
  readonly active: number;
  /** Addresses that are banned. */
  addresses(family: Prefix["family"]): number;
}

export interface AdmissionRequest {
  readonly target: IpAddress;
  readonly prefix: Prefix;
  /** An operator lifted the last ban so recently that no automatic one follows yet. */
  readonly isCoolingDown: boolean;
}

export function admit(request: AdmissionRequest, policy: AdmissionPolicy, bans: BansInForce): Admission {
  const { target, prefix, isCoolingDown } = request;
  if (policy.isWhitelisted(target)) return refused("whitelisted");
  if (!policy.isInNetworks(target)) return refused("outside configured networks");
  if (bans.isBanned) return { kind: "refresh" };
  if (isCoolingDown) return refused("cooldown after unban");
  if (bans.active >= policy.maxActiveBans) return refused("max_active_bans reached");
  if (isOverFraction(prefix, policy, bans)) return refused("max_banned_fraction reached");
  return { kind: "admitted" };
}

function isOverFraction(prefix: Prefix, policy: AdmissionPolicy, bans: BansInForce): boolean {
  if (policy.maxBannedFraction === 0) return false;
  const banned = bans.addresses(prefix.family) + addressesIn(prefix);
  return banned > policy.addresses(prefix.family) * policy.maxBannedFraction;
}

/** Beyond 2^53 not to the last one. */
export function addressesIn({ family, length }: Prefix): number {
  return 2 ** ((family === 4 ? 32 : 128) - length);
}

function refused(reason: Refusal): Admission {
  return { kind: "refused", reason };
}
