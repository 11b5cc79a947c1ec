/** What the ban engine goes by: who may be banned, how many, and what is done. */
import type { PrefixRefusal } from "../detection/carpet/carpet-bounds.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { AdmissionPolicy } from "./admission.ts";
import { isOneAddress } from "./ban-subject.ts";
import type { BanTerms } from "./plan.ts";

export interface MitigationPolicy extends AdmissionPolicy {
  readonly dryRun: boolean;
  /** How long rules wait until it can be told what an attack is; 0: that is never told. */
  readonly evidenceWaitMs: number;
  /** The same object for all addresses of one hostgroup. */
  termsOf(target: IpAddress): BanTerms;
  /** null: attacks that are spread over a prefix alert, and are not banned. */
  readonly spread: SpreadPolicy | null;
}

/** Bans of prefixes that are more than one address. */
export interface SpreadPolicy {
  /** null: there may be one. */
  refusalOf(prefix: Prefix): PrefixRefusal | null;
  /** The same object for all prefixes of one hostgroup. */
  termsOf(prefix: Prefix): BanTerms;
}

export function termsFor(policy: MitigationPolicy, prefix: Prefix): BanTerms {
  const { spread } = policy;
  return spread === null || isOneAddress(prefix) ? policy.termsOf(prefix.address) : spread.termsOf(prefix);
}

/** Whether there are bans of such prefixes at all. */
export function areBanned({ spread }: MitigationPolicy, prefix: Prefix): boolean {
  return isOneAddress(prefix) || spread !== null;
}
