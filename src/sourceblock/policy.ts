/** The configuration of source blocks, in the form that admission needs. */
import type { Config } from "../config/config.ts";
import { PrefixTable } from "../net/prefix-table.ts";
import type { SourceBlockPolicy } from "./admission.ts";

export function sourceBlockPolicy(config: Config): SourceBlockPolicy {
  const { dataplane, lookup, whitelist, ban, dryRun } = config;
  const allowlist = PrefixTable.of(dataplane?.allowlist ?? []);
  return {
    dryRun,
    hasDataplane: dataplane?.enabled === true,
    maxDynamicRules: dataplane?.maxDynamicRules ?? 0,
    maxActiveBans: ban.maxActiveBans,
    isWhitelisted: (victim) => whitelist.find(victim) >= 0,
    isAllowlisted: (source) => allowlist.find(source) >= 0,
    isInNetworks: (ip) => lookup.holds(ip),
  };
}
