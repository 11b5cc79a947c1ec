/** The known traffic of an attacked host when rules are made. */
import type { Classification, TrafficUnit } from "../../detection/attack/classifier.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import type { TrafficProfile } from "../../detection/attack/traffic-profile.ts";
import type { Direction } from "../../traffic/rates.ts";
import type { Service } from "../scrub/scrub-filter.ts";

export interface SeenTraffic {
  /** All packets of the host that the threshold counts. */
  readonly packets: readonly SampledPacket[];
  /** The unit of the threshold that the attack exceeds. */
  readonly unit: TrafficUnit;
  readonly classification: Classification | null;
  readonly direction: Direction;
  /** The attack's rate divided by its threshold; at least 1. */
  readonly timesThreshold: number;
  /** The attack's rate, in the unit; 0: not known. */
  readonly perSecond: number;
  /** The host's traffic before the attack; null: not known. */
  readonly profile: TrafficProfile | null;
  /** The host's services, by configuration. Absent, or null: not known. */
  readonly services?: readonly Service[] | null;
}

/** Users vary by so much. */
const GROWTH = 1.3;

/** The share of the traffic that users have at most, by their rate before; 1: not known. */
export function usersMost({ profile, unit, perSecond }: SeenTraffic): number {
  const rate = profile?.packetsPerSecond ?? null;
  if (profile === null || rate === null || perSecond === 0 || unit === "flows") return 1;
  const packets = profile.packets.reduce((sum, { standsFor }) => sum + standsFor, 0);
  const bytes = profile.packets.reduce((sum, { standsFor, wireBytes }) => sum + standsFor * wireBytes, 0);
  const before = unit === "bytes" ? (rate * bytes) / (packets || 1) : rate;
  return Math.min(1, (GROWTH * before) / perSecond);
}
