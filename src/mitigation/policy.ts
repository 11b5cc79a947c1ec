/** The ban engine's view of the configuration: what may be banned, how many at most, and by which terms. */
import type { Config } from "../config/config.ts";
import { OwnInfrastructure } from "../config/own-infrastructure.ts";
import { CarpetBounds, type PrefixRefusal } from "../detection/carpet/carpet-bounds.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import { type AdmissionPolicy, addressesIn } from "./admission.ts";
import { isOneAddress } from "./ban-subject.ts";
import type { BanTerms } from "./plan.ts";

export interface MitigationPolicy extends AdmissionPolicy {
  readonly dryRun: boolean;
  /** How long rules wait for the first classification of an attack; 0: attacks are not classified. */
  readonly evidenceWaitMs: number;
  /** The same object for all addresses of one hostgroup. */
  termsOf(target: IpAddress): BanTerms;
  /** null: attacks spread over a prefix only alert. */
  readonly spread: SpreadPolicy | null;
}

/** Bans of prefixes that are more than one address. */
export interface SpreadPolicy {
  /** null: the prefix may be banned. */
  refusalOf(prefix: Prefix): PrefixRefusal | null;
  /** The same object for all prefixes of one hostgroup. */
  termsOf(prefix: Prefix): BanTerms;
}

export function termsFor(policy: MitigationPolicy, prefix: Prefix): BanTerms {
  const { spread } = policy;
  return spread === null || isOneAddress(prefix) ? policy.termsOf(prefix.address) : spread.termsOf(prefix);
}

/** Whether bans of such prefixes are enabled. */
export function areBanned({ spread }: MitigationPolicy, prefix: Prefix): boolean {
  return isOneAddress(prefix) || spread !== null;
}

/** How long FlowSpec rules wait for the first classification of an attack. */
const EVIDENCE_WAIT_MS = 1000;

export function mitigationPolicy(config: Config): MitigationPolicy {
  const terms = termsByGroup(config);
  const own = new OwnInfrastructure(config);
  const addresses = { 4: addressesOf(config.networks, 4), 6: addressesOf(config.networks, 6) };
  return {
    dryRun: config.dryRun,
    evidenceWaitMs: config.samples.enabled ? EVIDENCE_WAIT_MS : 0,
    maxActiveBans: config.ban.maxActiveBans,
    maxBannedFraction: config.ban.maxBannedFraction,
    addresses: (family) => addresses[family],
    spread: spreadPolicy(config, terms),
    isInNetworks: (target) => config.lookup.holds(target),
    ownRefusal: (target) => own.refusalOf(target),
    isWhitelisted: (target) => config.whitelist.find(target) >= 0,
    // An address outside the networks has no group; its ban ends, or is refused.
    termsOf: (target) => terms[config.lookup.group(target)] ?? (terms[0] as BanTerms),
  };
}

/** Prefix bans have one method, without ladder and fallback. */
function spreadPolicy(config: Config, groups: readonly BanTerms[]): SpreadPolicy | null {
  const method = config.carpet?.mitigation ?? "none";
  if (method === "none") return null;
  const bounds = new CarpetBounds(config);
  const ladder = [{ afterSeconds: 0, action: method }];
  const terms = groups.map((group): BanTerms => {
    return { ...group, method, ladder, hasEscalation: false, ban: { ...group.ban, fallback: "none" } };
  });
  return {
    refusalOf: (prefix) => bounds.refusalOf(prefix),
    termsOf: ({ address }) => terms[config.lookup.group(address)] ?? (terms[0] as BanTerms),
  };
}

function termsByGroup({ hostgroups, mitigations }: Config): BanTerms[] {
  return mitigations.map((mitigation, i) => ({ ...mitigation, group: hostgroups[i]?.name ?? "global" }));
}

function addressesOf(networks: readonly Prefix[], family: Prefix["family"]): number {
  return networks.reduce((sum, prefix) => sum + (prefix.family === family ? addressesIn(prefix) : 0), 0);
}
