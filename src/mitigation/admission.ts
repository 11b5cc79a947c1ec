/** Whether an address or a prefix may be banned now. The checks and their order: docs/interface.md#ban-refusals. */
import type { PrefixRefusal } from "../detection/carpet/carpet-bounds.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { ALL_NODES_LOST } from "./ban.ts";
import { isOneAddress } from "./ban-subject.ts";

export interface AdmissionPolicy {
  isWhitelisted(target: IpAddress): boolean;
  isInNetworks(target: IpAddress): boolean;
  /** null: prefixes are not banned, single addresses alone. */
  readonly spread: { refusalOf(prefix: Prefix): PrefixRefusal | null } | null;
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

/** What no time or other ban changes, but a reload may. */
export type Unbannable = "prefixes are not banned" | PrefixRefusal;

export type Refusal =
  | Unbannable
  | typeof ALL_NODES_LOST
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
  readonly prefix: Prefix;
  /** An operator lifted the last ban so recently that no automatic one follows yet. */
  readonly isCoolingDown: boolean;
}

export function admit(request: AdmissionRequest, policy: AdmissionPolicy, bans: BansInForce): Admission {
  const { prefix, isCoolingDown } = request;
  const unbannable = unbannableFor(prefix, policy);
  if (unbannable !== null) return refused(unbannable);
  if (bans.isBanned) return { kind: "refresh" };
  if (isCoolingDown) return refused("cooldown after unban");
  if (bans.active >= policy.maxActiveBans) return refused("max_active_bans reached");
  if (isOverFraction(prefix, policy, bans)) return refused("max_banned_fraction reached");
  return { kind: "admitted" };
}

/** null: it may be banned, as far as it goes by the prefix alone. */
export function unbannableFor(prefix: Prefix, policy: AdmissionPolicy): Unbannable | null {
  if (!isOneAddress(prefix)) {
    return policy.spread === null ? "prefixes are not banned" : policy.spread.refusalOf(prefix);
  }
  if (policy.isWhitelisted(prefix.address)) return "whitelisted";
  return policy.isInNetworks(prefix.address) ? null : "outside configured networks";
}

/** Of a ban that was admitted before a reload (docs/interface.md#ban-withdrawals). */
export function withdrawnAs(unbannable: Unbannable): string {
  switch (unbannable) {
    case "whitelisted":
      return "target is whitelisted";
    case "outside configured networks":
      return "target left configured networks";
    case "prefixes are not banned":
    case "prefix spans hostgroups":
    case "prefix wider than carpet allows":
      return unbannable;
    default:
      return unbannable satisfies never;
  }
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
