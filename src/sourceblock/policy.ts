/** The configuration of source blocks, in the form that admission needs. */
import { callersOf } from "../access/shares.ts";
import type { MitigationSections } from "../mitigation/mitigation-config.ts";
import { slotsPerBan } from "../mitigation/scrub/ban-slots.ts";
import { standingPlaces, standingRules } from "../mitigation/scrub/standing-rules.ts";
import type { Prefix } from "../net/prefix.ts";
import { PrefixTable } from "../net/prefix-table.ts";
import type { SourceBlockPolicy } from "./admission.ts";

/** The configuration as far as source blocks depend on it. */
interface SourceBlockSections extends Omit<MitigationSections, "dataplane" | "samples" | "scrubProfiles"> {
  /** null: nothing is dropped on this machine. */
  readonly dataplane: {
    readonly enabled: boolean;
    readonly allowlist: readonly Prefix[];
    readonly maxDynamicRules: number;
  } | null;
}

export function sourceBlockPolicy(config: SourceBlockSections): SourceBlockPolicy {
  const { dataplane, lookup, whitelist, own, ban, dryRun } = config;
  const allowlist = PrefixTable.of(dataplane?.allowlist ?? []);
  return {
    dryRun,
    hasDataplane: dataplane?.enabled === true,
    maxDynamicRules: dataplane?.maxDynamicRules ?? 0,
    maxActiveBans: ban.maxActiveBans,
    slotsPerBan: slotsPerBan(config),
    standingRules: standingRules(standingPlaces(config, []), [], 0).length,
    callers: callersOf(config.api.callers),
    isWhitelisted: (victim) => whitelist.find(victim) >= 0,
    isOwn: (victim) => own.refusalOf(victim) !== null,
    isAllowlisted: (source) => allowlist.find(source) >= 0,
    isInNetworks: (ip) => lookup.holds(ip),
  };
}
