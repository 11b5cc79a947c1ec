/** Whether an address or a prefix may be banned now. The checks and their order: docs/interface.md#ban-refusals. */
import type { Room } from "../access/shares.ts";
import type { PrefixRefusal } from "../detection/carpet/carpet-bounds.ts";
import type { IpAddress } from "../net/address.ts";
import { addressesIn, type Prefix } from "../net/prefix.ts";
import { isOwnRefusal, type OwnRefusal } from "../traffic/own-infrastructure.ts";
import type { Ban, NoTarget } from "./ban.ts";
import { isOneAddress } from "./ban-subject.ts";
import { type OrderedPrefixRefusal, type OrderPolicy, type OrderRefusal, TOO_WIDE } from "./order/order-policy.ts";

export interface AdmissionPolicy {
  isWhitelisted(target: IpAddress): boolean;
  isInNetworks(target: IpAddress): boolean;
  /** null: it is no address that the service itself needs. */
  ownRefusal(target: IpAddress): OwnRefusal | null;
  /** null: only single addresses are banned. */
  readonly spread: { refusalOf(prefix: Prefix): PrefixRefusal | null } | null;
  readonly orders: Pick<OrderPolicy, "refusalOf">;
  readonly maxActiveBans: number;
  /** The largest share of all addresses of one family that may be banned; 0: no limit. */
  readonly maxBannedFraction: number;
  /** Addresses in all configured networks. */
  addresses(family: Prefix["family"]): number;
}

export type Admission =
  | { readonly kind: "admitted" }
  /** The prefix already has an active ban, which is extended. */
  | { readonly kind: "refresh" }
  | { readonly kind: "refused"; readonly reason: Refusal };

/** Refusals that depend only on the configuration and the prefix. */
type Unbannable = "prefixes are not banned" | PrefixRefusal | OrderedPrefixRefusal;

/** Refusals at the caps, where a worse attack replaces other bans. */
export const CAPS = ["max_active_bans reached", "max_banned_fraction reached"] as const;
export type Cap = (typeof CAPS)[number];

/** The refusal of a tenant's order over its share; attacks are not refused for it. */
export const OVER_SHARE = "your share of ban.max_active_bans is taken: unban others that you ordered";
/** The same for addresses. */
export const OVER_ADDRESSES =
  "your share of ban.max_banned_fraction is taken: unban others that you ordered, or order a narrower prefix";
export type ShareRefusal = typeof OVER_SHARE | typeof OVER_ADDRESSES;

export type Refusal = Unbannable | NoTarget | "cooldown after unban" | Cap | ShareRefusal | OrderRefusal;

export function isCap(reason: string | null): reason is Cap {
  return CAPS.some((cap) => cap === reason);
}

/** The withdrawal reason of a ban that was replaced (docs/interface.md#ban-withdrawals). */
export function replacedAt(cap: Cap): string {
  return `${REPLACED}${cap}`;
}

const REPLACED = "replaced by the ban of a worse attack: ";

/** The cap at which a ban was replaced or refused; null: the reason is another one. */
export function capIn(reason: string | null): Cap | null {
  const cap = reason?.startsWith(REPLACED) === true ? reason.slice(REPLACED.length) : reason;
  return isCap(cap) ? cap : null;
}

interface BansInForce {
  /** Whether the prefix has an active ban. */
  readonly isBanned: boolean;
  readonly active: number;
  /** Number of banned addresses. */
  addresses(family: Prefix["family"]): number;
}

export interface AdmissionRequest {
  readonly prefix: Prefix;
  /** An operator ended the last ban during the cooldown: no automatic ban may follow yet. */
  readonly isCoolingDown: boolean;
  /** Its ban has only watched, and takes a place now. Absent: false. */
  readonly isClimbing?: boolean;
  /** It only watches at first, which takes no place. Absent: false. */
  readonly isWatching?: boolean;
  /** An operator orders it. Absent: false. */
  readonly isOrdered?: boolean;
  /** It is virtual by order, which takes no addresses. Absent: false. */
  readonly isVirtual?: boolean;
  /** Its ban was virtual by order, and takes its addresses now. Absent: false. */
  readonly isBecomingReal?: boolean;
}

export function admit(request: AdmissionRequest, policy: AdmissionPolicy, bans: BansInForce): Admission {
  const { prefix, isCoolingDown, isOrdered } = request;
  const unbannable = unbannableFor(prefix, policy, isOrdered);
  if (unbannable !== null) return refused(unbannable);
  const isOver = request.isVirtual !== true && isOverFraction(prefix, policy, bans);
  if (bans.isBanned && request.isBecomingReal === true) {
    if (isCoolingDown) return refused("cooldown after unban");
    if (isOver) return refused("max_banned_fraction reached");
  }
  if (bans.isBanned) return { kind: "refresh" };
  if (isCoolingDown) return refused("cooldown after unban");
  if (request.isWatching === true) return { kind: "admitted" };
  if (bans.active >= policy.maxActiveBans) return refused("max_active_bans reached");
  if (isOver) return refused("max_banned_fraction reached");
  return { kind: "admitted" };
}

/** The room for manual bans of tenants: half of the cap, so that the other half is for attacks, whatever tenants order. */
export function manualRoom({ maxActiveBans }: AdmissionPolicy): Room {
  return { capacity: maxActiveBans, reserve: Math.ceil(maxActiveBans / 2) };
}

/** The same for the addresses of these bans; null: they have no bound. */
export function manualAddressRoom(policy: AdmissionPolicy, family: Prefix["family"]): Room | null {
  if (policy.maxBannedFraction === 0) return null;
  const capacity = Math.floor(policy.maxBannedFraction * policy.addresses(family));
  return { capacity, reserve: Math.ceil(capacity / 2) };
}

/** null: the configuration allows to ban this prefix. */
export function unbannableFor(prefix: Prefix, policy: AdmissionPolicy, isOrdered = false): Unbannable | null {
  if (!isOneAddress(prefix)) {
    if (isOrdered) return policy.orders.refusalOf(prefix);
    return policy.spread === null ? "prefixes are not banned" : policy.spread.refusalOf(prefix);
  }
  if (policy.isWhitelisted(prefix.address)) return "whitelisted";
  return policy.isInNetworks(prefix.address) ? policy.ownRefusal(prefix.address) : "outside configured networks";
}

/** A ban that a policy does not allow, and why. */
export interface DisallowedBan {
  readonly prefix: string;
  readonly reason: string;
}

/** The bans that would end if the policy were in force. */
export function disallowedBy(
  policy: AdmissionPolicy,
  bans: Iterable<Pick<Ban, "prefix" | "ordered">>,
): DisallowedBan[] {
  return [...bans].flatMap(({ prefix, ordered }) => {
    const unbannable = unbannableFor(prefix, policy, ordered !== undefined);
    return unbannable === null ? [] : [{ prefix: prefix.text, reason: withdrawnAs(unbannable) }];
  });
}

/** The withdrawal reason of a ban that a reload no longer allows (docs/interface.md#ban-withdrawals). */
export function withdrawnAs(unbannable: Unbannable): string {
  if (isOwnRefusal(unbannable)) return `target is ${unbannable}`;
  switch (unbannable) {
    case "whitelisted":
      return "target is whitelisted";
    case "outside configured networks":
      return "target left configured networks";
    case "prefixes are not banned":
    case "prefix spans hostgroups":
    case "prefix wider than carpet allows":
    case TOO_WIDE:
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

function refused(reason: Refusal): Admission {
  return { kind: "refused", reason };
}
