/** The section `carpet`: attacks that are spread over so many hosts that none is over a threshold of its own. */
import { type Static, Type } from "@sinclair/typebox";
import { METRICS } from "../traffic/rates.ts";
import type { Thresholds } from "./config.ts";
import { closed, integer } from "./schema-forms.ts";
import { AnyThresholds } from "./threshold-forms.ts";

export const CarpetSection = Type.Object(
  {
    prefix_v4: integer(8, 32, 24),
    prefix_v6: integer(16, 52, 48),
    min_hosts: integer(2, 65_536, 10),
    thresholds: AnyThresholds,
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
}

export function buildCarpet(file: Static<typeof CarpetSection>): CarpetConfig {
  return {
    prefixV4: file.prefix_v4,
    prefixV6: file.prefix_v6,
    minHosts: file.min_hosts,
    thresholds: METRICS.map((metric) => file.thresholds[metric] ?? 0),
  };
}
