/** Whether an address may be banned now. The checks and their order: choices, section 3, ban reasons. */
import type { IpAddress } from "../net/address.ts";

export interface AdmissionPolicy {
  isWhitelisted(target: IpAddress): boolean;
  isInNetworks(target: IpAddress): boolean;
  readonly maxActiveBans: number;
}

export type Admission =
  | { readonly kind: "admitted" }
  /** The address has an active ban already. */
  | { readonly kind: "refresh" }
  | { readonly kind: "refused"; readonly reason: Refusal };

export type Refusal = "whitelisted" | "outside configured networks" | "max_active_bans reached";

export function admit(
  target: IpAddress,
  policy: AdmissionPolicy,
  bans: { readonly isBanned: boolean; readonly active: number },
): Admission {
  if (policy.isWhitelisted(target)) return { kind: "refused", reason: "whitelisted" };
  if (!policy.isInNetworks(target)) return { kind: "refused", reason: "outside configured networks" };
  if (bans.isBanned) return { kind: "refresh" };
  if (bans.active >= policy.maxActiveBans) return { kind: "refused", reason: "max_active_bans reached" };
  return { kind: "admitted" };
}
