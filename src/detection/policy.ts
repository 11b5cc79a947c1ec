/** What the configuration says about detection and sampling, in the form that each of them asks for. */
import type { Config } from "../config/config.ts";
import { ACTIVE_ATTACKS_MAX } from "../limits.ts";
import type { SamplingPolicy } from "./attack-sampler.ts";
import type { CarpetPolicy } from "./carpet-judge.ts";
import type { DetectionPolicy } from "./detector.ts";

export function detectionPolicy(config: Config): DetectionPolicy {
  return {
    hostgroups: config.hostgroups,
    sustainMs: config.detection.sustainMs,
    hysteresisMs: (config.mitigations[0]?.ban.unbanHysteresisSeconds ?? 0) * 1000,
    maxActive: ACTIVE_ATTACKS_MAX,
  };
}

export function carpetPolicy(config: Config): CarpetPolicy {
  return { ...detectionPolicy(config), carpet: config.carpet, networks: config.networks };
}

/** null: sampling is off. */
export function samplingPolicy({ samples, detection }: Config): SamplingPolicy | null {
  if (!samples.enabled) return null;
  return { windowMs: detection.windowMs, top: samples.top, flows: samples.perAttackFlows };
}
