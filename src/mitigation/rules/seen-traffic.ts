/** What is known of an attacked host's traffic when rules are made. */
import type { Classification, TrafficUnit } from "../../detection/attack/classifier.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import type { TrafficProfile } from "../../detection/attack/traffic-profile.ts";
import type { Direction } from "../../traffic/rates.ts";

export interface SeenTraffic {
  /** All packets of the host that the threshold counts. */
  readonly packets: readonly SampledPacket[];
  /** The unit of the threshold that the attack exceeds. */
  readonly unit: TrafficUnit;
  readonly classification: Classification | null;
  readonly direction: Direction;
  /** The attack's rate divided by its threshold; at least 1. */
  readonly timesThreshold: number;
  /** The host's traffic before the attack; null: not known. */
  readonly profile: TrafficProfile | null;
}
