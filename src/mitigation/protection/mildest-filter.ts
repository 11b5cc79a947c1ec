/** One filter for a prefix of which parts have others: what one of them lets pass is let pass. Pure. */
import { SCRUB_SERVICES_MAX } from "../../limits.ts";
import type { ScrubConfig } from "../scrub/scrub-config.ts";
import type { ScrubFilter, Service, SourceLimits } from "../scrub/scrub-filter.ts";

/** @param filters at least one. All other settings are taken from the first one. */
export function mildestOf(filters: readonly [ScrubConfig, ...ScrubConfig[]]): ScrubConfig {
  const [{ blockedSets: _sets, ...first }, ...others] = filters;
  if (others.length === 0) return filters[0];
  const blockedSets = (filters[0].blockedSets ?? []).filter((name) =>
    others.every((each) => each.blockedSets?.includes(name) === true),
  );
  return {
    ...first,
    tcp: mildestWay(filters),
    dns: filters.every(({ dns }) => dns),
    askedOnly: filters.every(({ askedOnly }) => askedOnly),
    learnedBytesPerSecond: mostOf(filters.map(({ learnedBytesPerSecond }) => learnedBytesPerSecond)),
    sourceLimits: mildestLimits(filters.map(({ sourceLimits }) => sourceLimits)),
    ...(blockedSets.length === 0 ? {} : { blockedSets }),
    services: allServices(filters),
    countsOnly: filters.some(({ countsOnly }) => countsOnly),
  };
}

function mildestWay(filters: readonly ScrubFilter[]): ScrubFilter["tcp"] {
  if (filters.some(({ tcp }) => tcp === null)) return null;
  return filters.some(({ tcp }) => tcp === "transparent") ? "transparent" : "reset";
}

/** 0 is any. */
function mostOf(rates: readonly number[]): number {
  return rates.includes(0) ? 0 : Math.max(...rates);
}

function mildestLimits(limits: readonly SourceLimits[]): SourceLimits {
  return {
    packets: mostOf(limits.map(({ packets }) => packets)),
    bytes: mostOf(limits.map(({ bytes }) => bytes)),
    connections: mostOf(limits.map(({ connections }) => connections)),
    ipv4Length: Math.max(...limits.map(({ ipv4Length }) => ipv4Length)),
    ipv6Length: Math.max(...limits.map(({ ipv6Length }) => ipv6Length)),
  };
}

/** If several are equal, the one with the highest rate. null: any traffic. */
function allServices(filters: readonly ScrubFilter[]): ScrubFilter["services"] {
  const byPorts = new Map<string, Service>();
  for (const { services } of filters) {
    if (services === null) return null;
    for (const service of services) {
      const { packetsPerSecond: _rate, ...ports } = service;
      const key = JSON.stringify(ports);
      const known = byPorts.get(key);
      if (known === undefined || rateOf(service) > rateOf(known)) byPorts.set(key, service);
    }
  }
  return byPorts.size > SCRUB_SERVICES_MAX ? null : [...byPorts.values()];
}

function rateOf({ packetsPerSecond = Number.POSITIVE_INFINITY }: Service): number {
  return packetsPerSecond;
}
