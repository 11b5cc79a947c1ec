/** The configuration of source blocks, in the form that admission needs. */
import { callersOf } from "../access/shares.ts";
import type { Config } from "../config/config.ts";
import { OwnInfrastructure } from "../config/own-infrastructure.ts";
import { slotsPerBan } from "../mitigation/scrub/ban-slots.ts";
import { standingPlaces, standingRules } from "../mitigation/scrub/standing-rules.ts";
import { PrefixTable } from "../net/prefix-table.ts";
import type { SourceBlockPolicy } from "./admission.ts";

export function sourceBlockPolicy(config: Config): SourceBlockPolicy {
  const { dataplane, lookup, whitelist, ban, dryRun } = config;
  const allowlist = PrefixTable.of(dataplane?.allowlist ?? []);
  const own = new OwnInfrastructure(config);
  return {
    dryRun,
    hasDataplane: dataplane?.enabled === true,
    maxDynamicRules: dataplane?.maxDynamicRules ?? 0,
    maxActiveBans: ban.maxActiveBans,
    slotsPerBan: slotsPerBan(config),
    standingRules: standingRules(standingPlaces(config, []), [], 0).length,
    callers: callersOf(config.api.tokens),
    isWhitelisted: (victim) => whitelist.find(victim) >= 0,
    isOwn: (victim) => own.refusalOf(victim) !== null,
    isAllowlisted: (source) => allowlist.find(source) >= 0,
    isInNetworks: (ip) => lookup.holds(ip),
  };
}
