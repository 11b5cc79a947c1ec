/** What the configuration says about bans, in the form that the ban engine asks for. */
import type { Config } from "../config/config.ts";
import { CarpetBounds } from "../detection/carpet/carpet-bounds.ts";
import type { Prefix } from "../net/prefix.ts";
import { addressesIn } from "./admission.ts";
import type { MitigationPolicy, SpreadPolicy } from "./mitigation-policy.ts";
import type { BanTerms } from "./plan.ts";

/** How long FlowSpec rules wait for the first judgement of what an attack is. */
const EVIDENCE_WAIT_MS = 1000;

export function mitigationPolicy(config: Config): MitigationPolicy {
  const terms = termsByGroup(config);
  const addresses = { 4: addressesOf(config.networks, 4), 6: addressesOf(config.networks, 6) };
  return {
    dryRun: config.dryRun,
    evidenceWaitMs: config.samples.enabled ? EVIDENCE_WAIT_MS : 0,
    maxActiveBans: config.ban.maxActiveBans,
    maxBannedFraction: config.ban.maxBannedFraction,
    addresses: (family) => addresses[family],
    spread: spreadPolicy(config, terms),
    isInNetworks: (target) => config.lookup.holds(target),
    isWhitelisted: (target) => config.whitelist.find(target) >= 0,
    // What lies outside the networks is of no group; its ban ends, or is refused.
    termsOf: (target) => terms[config.lookup.group(target)] ?? (terms[0] as BanTerms),
  };
}

/** What is done for prefixes is their own: no ladder, and nothing that stands in for what was asked for. */
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
