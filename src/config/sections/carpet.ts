/** The section `carpet`: attacks that are spread over so many hosts that none is over a threshold of its own. */
import { type Static, Type } from "@sinclair/typebox";
import type { Action } from "../../mitigation/escalation.ts";
import { METRICS, type Thresholds } from "../../traffic/rates.ts";
import { closed, integer, oneOf } from "../load/schema-forms.ts";
import { AnyThresholds } from "../load/threshold-forms.ts";

export const CarpetSection = Type.Object(
  {
    prefix_v4: integer(8, 32, 24),
    prefix_v6: integer(16, 52, 48),
    min_hosts: integer(2, 65_536, 10),
    thresholds: AnyThresholds,
    mitigation: Type.Unsafe<Action>({ ...oneOf("none", "blackhole", "flowspec", "divert"), default: "none" }),
    widest_v4: Type.Optional(integer(8, 32)),
    widest_v6: Type.Optional(integer(16, 52)),
  },
  closed,
);

export interface CarpetConfig {
  /** The size of the prefixes whose sums are judged. */
  readonly prefixV4: number;
  readonly prefixV6: number;
  /** Fewer hosts are no carpet. */
  readonly minHosts: number;
  /** Of one such prefix. */
  readonly thresholds: Thresholds;
  /** What is done about an attack; none: it alerts. */
  readonly mitigation: Action;
  /** With a mitigation: an attack on a wider prefix is several. */
  readonly widestV4: number;
  readonly widestV6: number;
}

/** Sixteen prefixes side by side. */
const WIDER_BITS = 4;

export function buildCarpet(file: Static<typeof CarpetSection>): CarpetConfig {
  return {
    prefixV4: file.prefix_v4,
    prefixV6: file.prefix_v6,
    minHosts: file.min_hosts,
    thresholds: METRICS.map((metric) => file.thresholds[metric] ?? 0),
    mitigation: file.mitigation,
    widestV4: file.widest_v4 ?? Math.max(8, file.prefix_v4 - WIDER_BITS),
    widestV6: file.widest_v6 ?? Math.max(16, file.prefix_v6 - WIDER_BITS),
  };
}
