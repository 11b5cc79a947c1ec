/** The configuration of detection and sampling, in the form that each needs. */
import { ACTIVE_ATTACKS_MAX } from "../../limits.ts";
import type { IngressOf } from "../../traffic/ingress.ts";
import type { SamplingPolicy } from "../attack/attack-reading.ts";
import type { OriginOf } from "../attack/sample-origins.ts";
import type { SamplesConfig } from "../attack/samples-config.ts";
import { type BoundsSections, CarpetBounds } from "../carpet/carpet-bounds.ts";
import type { CarpetConfig } from "../carpet/carpet-config.ts";
import type { CarpetPolicy } from "../carpet/carpet-judge.ts";
import type { Hostgroup } from "../hostgroup.ts";
import type { DetectionConfig } from "./detection-config.ts";
import type { DetectionPolicy } from "./detector.ts";

/** The configuration as far as detection depends on it. */
export interface DetectionSections extends BoundsSections {
  readonly detection: DetectionConfig;
  readonly hostgroups: readonly Hostgroup[];
  /** One for each hostgroup, in the same order. */
  readonly mitigations: readonly { readonly ban: { readonly unbanHysteresisSeconds: number } }[];
  /** null: off. `none`: its attacks are not banned. */
  readonly carpet: (CarpetConfig & { readonly mitigation: string }) | null;
  readonly samples: SamplesConfig;
}

export function detectionPolicy(config: DetectionSections): DetectionPolicy {
  const seconds = new Map(
    config.hostgroups.map(({ name }, i) => [name, config.mitigations[i]?.ban.unbanHysteresisSeconds ?? 0]),
  );
  return {
    hostgroups: config.hostgroups,
    windowMs: config.detection.windowMs,
    tickMs: config.detection.tickMs,
    sustainMs: config.detection.sustainMs,
    // Attacks of a removed group use the global value.
    hysteresisMs: (group) => 1000 * (seconds.get(group) ?? seconds.get("global") ?? 0),
    maxActive: ACTIVE_ATTACKS_MAX,
    confidence: config.detection.confidence,
  };
}

/** Where packets come from. */
export interface Lookups {
  /** From the configured files; null: none is configured. */
  readonly originOf: OriginOf | null;
  readonly ingressOf: IngressOf;
}

export function carpetPolicy(config: DetectionSections): CarpetPolicy {
  const { carpet, networks, lookup } = config;
  const bounds = carpet === null || carpet.mitigation === "none" ? null : new CarpetBounds(config);
  return {
    ...detectionPolicy(config),
    carpet,
    networks,
    networkOf: (ip) => lookup.network(ip),
    isBannable: bounds === null ? null : (prefix) => bounds.refusalOf(prefix) === null,
  };
}

/** null: sampling is off. */
export function samplingPolicy(config: DetectionSections, { originOf, ingressOf }: Lookups): SamplingPolicy | null {
  const { samples, detection, hostgroups } = config;
  const numbers = new Map(hostgroups.map(({ name }, number) => [name, number]));
  if (!samples.enabled) return null;
  return {
    windowMs: detection.windowMs,
    top: samples.top,
    flows: samples.perAttackFlows,
    originOf,
    ingressOf,
    numberOf: (group) => numbers.get(group) ?? null,
  };
}
