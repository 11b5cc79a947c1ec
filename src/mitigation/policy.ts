/** What the configuration says about bans, in the form that the ban engine asks for. */
import type { BgpConfig, Config } from "../config/config.ts";
import type { Prefix } from "../net/prefix.ts";
import type { UnicastRoute } from "./announcer.ts";
import type { MitigationPolicy } from "./ban-engine.ts";

export function mitigationPolicy(config: Config): MitigationPolicy {
  return {
    dryRun: config.dryRun,
    ttlSeconds: config.ban.ttlSeconds,
    maxActiveBans: config.ban.maxActiveBans,
    isInNetworks: (target) => config.lookup.holds(target),
    isWhitelisted: (target) => config.whitelist.find(target) >= 0,
    routeFor: (prefix) => (config.bgp === null ? null : blackhole(prefix, config.bgp)),
  };
}

function blackhole(prefix: Prefix, bgp: BgpConfig): UnicastRoute {
  const { communities, localPref } = bgp;
  return { kind: "unicast", prefix, nextHop: prefix.family === 4 ? bgp.nextHop : bgp.nextHop6, communities, localPref };
}
