/** The section `carpet`: attacks that are spread over a prefix. */
import type { Thresholds } from "../../traffic/rates.ts";

export interface CarpetConfig {
  /** The length of the prefixes whose sums are judged. */
  readonly prefixV4: number;
  readonly prefixV6: number;
  /** An attack on fewer hosts is not a carpet attack. */
  readonly minHosts: number;
  /** Thresholds of one such prefix. */
  readonly thresholds: Thresholds;
  /** With a mitigation, an attack on a wider prefix is split into several. */
  readonly widestV4: number;
  readonly widestV6: number;
}
