/** Settings that are valid but may be unintended. */

import type { BgpNeighbor } from "../../bgp/bgp-config.ts";
import { NO_CHANGES, type RouteChanges } from "../../bgp/policy-config.ts";
import { enclosingPrefix, type Prefix } from "../../net/prefix.ts";
import type { Finding } from "../../schema/shape.ts";
import { isLoopback } from "../../schema/text-forms.ts";
import { METRICS } from "../../traffic/rates.ts";
import type { Config } from "../config.ts";
import { type ReadVariable, unsetVariables } from "../load/secrets.ts";
import { clusterWarnings } from "./cluster.ts";
import { hiddenRuleWarnings } from "./filter-rules.ts";
import { notifyWarnings } from "./notify.ts";
import { oidcWarnings } from "./oidc.ts";
import { scrubbingWarnings } from "./scrubbing.ts";
import { telemetryWarnings } from "./telemetry.ts";
import { tokenWarnings } from "./token.ts";

export function configWarnings(config: Config, read: ReadVariable): Finding[] {
  return [
    ...modeWarnings(config),
    ...mirrorWarnings(config),
    ...telemetryWarnings(config),
    ...dataplaneWarnings(config),
    ...networkWarnings(config),
    ...whitelistWarnings(config),
    ...thresholdWarnings(config),
    ...floorWarnings(config),
    ...bgpWarnings(config),
    ...flowspecWarnings(config),
    ...hiddenRuleWarnings(config.filterRules, config.networks),
    ...scrubbingWarnings(config),
    ...tokenWarnings(config, read),
    ...oidcWarnings(config, read),
    ...tlsWarnings(config),
    ...notifyWarnings(config, read),
    ...edgeWarnings(config),
    ...clusterWarnings(config),
    ...unsetVariables(config, read).map(({ name, path }) => ({
      path,
      rule: `the variable ${name} is not set here: the service does not start without it`,
    })),
  ];
}

function* modeWarnings(config: Config): Generator<Finding> {
  if (config.dryRun) {
    yield { path: ["dry_run"], rule: "is true: bans are recorded, nothing is announced" };
  } else if (config.bgp === null) {
    yield { path: ["bgp"], rule: "is absent while dry_run is false: bans are recorded, no route can be announced" };
  }
  if (config.capture === null) {
    yield { path: ["capture"], rule: "is absent: no packets are seen, only manual bans work" };
  }
}

function* mirrorWarnings({ capture }: Config): Generator<Finding> {
  for (const [i, { name, mode, backend }] of (capture?.interfaces ?? []).entries()) {
    if (mode !== "mirror" || backend !== "af_xdp") continue;
    const rule = `takes every frame off ${name}: intended for a SPAN or tap port; other traffic on it is lost`;
    yield { path: ["capture", "interfaces", i, "mode"], rule };
  }
}

function* tlsWarnings({ api: { host, tls } }: Config): Generator<Finding> {
  if (tls !== null || isLoopback(host)) return;
  const remedy = "set api.tls, or listen on loopback behind a proxy that has TLS";
  yield { path: ["api", "listen"], rule: `${host} is served by plain http: tokens can be read on the way; ${remedy}` };
}

/** A mirror port receives copies. */
function* dataplaneWarnings({ capture, dataplane }: Config): Generator<Finding> {
  for (const [i, name] of (dataplane?.interfaces ?? []).entries()) {
    const captured = capture?.interfaces.find((other) => other.name === name);
    if (captured?.mode !== "mirror") continue;
    const rule = `${name} is a mirror port: what is dropped there are copies, and the original traffic is not dropped`;
    yield { path: ["dataplane", "interfaces", i], rule };
  }
}

/** The shortest prefixes that one operator holds: an IPv4 /8, an IPv6 /16. */
const WIDEST = { 4: 8, 6: 16 } as const;

function* networkWarnings({ networks }: Config): Generator<Finding> {
  for (const [i, { family, length, text }] of networks.entries()) {
    if (length >= WIDEST[family]) continue;
    yield {
      path: ["networks", i],
      rule: `${text} is wider than what any operator holds: addresses of others would be counted and banned`,
    };
  }
}

function* whitelistWarnings({ networks, protectedWhitelist, lookup }: Config): Generator<Finding> {
  const holders = prefixesAround(networks, protectedWhitelist);
  for (const [i, entry] of protectedWhitelist.entries()) {
    if (lookup.holds(entry.address) || holders.has(entry.text)) continue;
    yield {
      path: ["protected_whitelist", i],
      rule: `${entry.text} is outside networks, where nothing is banned anyway`,
    };
  }
}

/**
 * Texts of all prefixes, of the candidates' lengths, that contain a network: a whitelist entry may be wider than one.
 */
function prefixesAround(networks: readonly Prefix[], candidates: readonly Prefix[]): ReadonlySet<string> {
  const lengths = { 4: new Set<number>(), 6: new Set<number>() };
  for (const { family, length } of candidates) lengths[family].add(length);
  const texts = networks.flatMap(({ family, address, length: longest }) =>
    [...lengths[family]].flatMap((length) => (length > longest ? [] : enclosingPrefix(address, length).text)),
  );
  return new Set(texts);
}

/** A part of the traffic has a higher threshold than the whole, so that of the whole always triggers first. */
function* thresholdWarnings({ hostgroups }: Config): Generator<Finding> {
  const inherited = hostgroups[0]?.thresholds ?? [];
  for (const [group, { thresholds }] of hostgroups.entries()) {
    const path = group === 0 ? ["thresholds"] : ["hostgroups", group - 1, "thresholds"];
    for (const [part, whole] of PARTS) {
      const [limit, ceiling] = [thresholds[part] ?? 0, thresholds[whole] ?? 0];
      if (limit <= ceiling) continue;
      if (group > 0 && limit === inherited[part] && ceiling === inherited[whole]) continue;
      const rule = `${limit} is above ${METRICS[whole]} ${ceiling}, which always triggers first`;
      yield { path: [...path, METRICS[part] ?? ""], rule };
    }
  }
}

/** With a floor at the threshold nothing can be learned. */
function* floorWarnings({ hostgroups }: Config): Generator<Finding> {
  for (const [group, { baseline, thresholds }] of hostgroups.entries()) {
    for (const [metric, floor] of (baseline?.floor ?? []).entries()) {
      const threshold = thresholds[metric] ?? 0;
      if (threshold === 0 || floor < threshold) continue;
      const path = group === 0 ? ["baseline", "floor"] : ["hostgroups", group - 1, "baseline"];
      const rule = `the floor of ${METRICS[metric]}, ${floor}, is not below its threshold ${threshold}: nothing is learned`;
      yield { path, rule };
    }
  }
}

/** Pairs of metrics as indexes in METRICS: tcp_pps is a part of pps, tcp_mbps of mbps. */
const PARTS = METRICS.flatMap((metric, part) => {
  const whole = METRICS.findIndex((unit) => metric.endsWith(`_${unit}`));
  return whole < 0 ? [] : [[part, whole] as const];
});

function* edgeWarnings({ edge }: Config): Generator<Finding> {
  if (edge === null || edge.zonesFile !== null) return;
  yield { path: ["edge"], rule: "has no zones_file: its nodes get no zones" };
}

/** The action of a ban with FlowSpec that cannot work. */
function* flowspecWarnings({ mitigations, bgp }: Config): Generator<Finding> {
  for (const [i, { ladder, ban }] of mitigations.entries()) {
    if (ladder.at(-1)?.action !== "flowspec" || ban.fallback !== "none") continue;
    const path = i === 0 ? [] : ["hostgroups", i - 1];
    const rule =
      "is none: where no rule separates an attack from users, or no neighbor takes rules, a ban does nothing";
    yield { path: [...path, "ban", "fallback"], rule };
  }
  if (bgp === null || bgp.speaker === "external" || bgp.neighbors.length === 0) return;
  const isUsed = mitigations.some(({ ladder }) => ladder.some(({ action }) => action === "flowspec"));
  if (
    isUsed &&
    bgp.neighbors.every(({ dryRun, policy }) => dryRun === true || policy?.methods.includes("flowspec") === false)
  )
    yield { path: ["bgp", "neighbors"], rule: "take no FlowSpec by their policies: bans with it have the fallback" };
}

function* bgpWarnings({ bgp }: Config): Generator<Finding> {
  if (bgp === null) return;
  const { neighbors, localAsn: own } = bgp;
  // The neighbors of an external speaker are not known.
  const hasThose = neighbors.length === 0 || neighbors.some((each) => ofBlackholes(each)?.communities === null);
  if (bgp.communities.length === 0 && hasThose) {
    yield { path: ["bgp", "communities"], rule: "is empty: neighbors must know a blackhole by its next hop alone" };
  }
  const isInternal = ({ remoteAsn, localAsn = own }: BgpNeighbor) => remoteAsn === localAsn;
  const linked = neighbors.filter(
    (each) => !isInternal(each) && each.multihopTtl === 0 && ofBlackholes(each)?.nextHop === null,
  );
  if (linked.length > 0) {
    const addresses = linked.map(({ address }) => address).join(", ");
    const rule = `is not on the link to ${addresses}: without multihop there, BIRD rejects the routes and FRR leaves them inactive, and no ban shows it (docs/operations/routers.md)`;
    yield { path: ["bgp", "next_hop"], rule };
  }
  if (bgp.localPref !== 0 && !neighbors.some(isInternal)) {
    yield { path: ["bgp", "local_pref"], rule: "goes to neighbors of the same AS only, and there is none" };
  }
}

/** The terms of blackholes at the neighbor in place of those of hostgroups; undefined: it gets none. */
function ofBlackholes({ policy }: BgpNeighbor): RouteChanges | undefined {
  if (policy === undefined) return NO_CHANGES;
  return policy.methods.includes("blackhole") ? policy.blackhole : undefined;
}
