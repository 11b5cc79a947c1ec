/** What the configuration says about detection, in the form that the detector asks for. */
import type { Config } from "../config/config.ts";
import { ACTIVE_ATTACKS_MAX } from "../limits.ts";
import type { DetectionPolicy } from "./detector.ts";

export function detectionPolicy(config: Config): DetectionPolicy {
  return {
    hostgroups: config.hostgroups,
    sustainMs: config.detection.sustainMs,
    hysteresisMs: config.ban.unbanHysteresisSeconds * 1000,
    maxActive: ACTIVE_ATTACKS_MAX,
  };
}
