/**
 * Why an attack was detected (docs/interface.md#reason): the origin of the threshold, and the composition of the
 * traffic.
 */

import { METRICS, type Metric, type Rates } from "../../traffic/rates.ts";
import type { LimitOrigin } from "../baseline/baselines.ts";

export interface Reason {
  readonly thresholdSource: "static" | "baseline";
  /** The origin of a learned limit. */
  readonly baseline: LimitOrigin["baseline"];
  /** The time that the normal rate was learned from. */
  readonly normalOf: LimitOrigin["normalOf"];
  readonly baselineConfigured: boolean;
  /** null: a warm baseline would give the same threshold, or there is no baseline. */
  readonly warmupRemainingSeconds: number | null;
  /** Fractions of all packets, 0 to 1; `syn` and `frag` overlap with the protocols. */
  readonly shares: Readonly<Record<"udp" | "syn" | "tcp" | "icmp" | "frag", number>>;
  /** The share that one protocol needs to name the attack. */
  readonly dominantShareGate: number;
}

const DOMINANT_SHARE_GATE = 0.5;

const SHARES = { udp: "udp_pps", syn: "tcp_syn_pps", tcp: "tcp_pps", icmp: "icmp_pps", frag: "frag_pps" } as const;

/** For targets without a baseline. */
export const NO_BASELINE = {
  baseline: null,
  normalOf: "recent",
  baselineConfigured: false,
  warmupRemainingSeconds: null,
} as const;

export function explain(
  rates: Rates,
  limit: LimitOrigin & { readonly baselineConfigured: boolean } = NO_BASELINE,
): Reason {
  const total = rates[0] as number;
  const share = (metric: Metric) =>
    total > 0 ? Math.round(((rates[METRICS.indexOf(metric)] ?? 0) / total) * 1e4) / 1e4 : 0;
  return {
    thresholdSource: limit.baseline === null ? "static" : "baseline",
    baseline: limit.baseline,
    normalOf: limit.normalOf,
    baselineConfigured: limit.baselineConfigured,
    warmupRemainingSeconds: limit.warmupRemainingSeconds,
    shares: {
      udp: share(SHARES.udp),
      syn: share(SHARES.syn),
      tcp: share(SHARES.tcp),
      icmp: share(SHARES.icmp),
      frag: share(SHARES.frag),
    },
    dominantShareGate: DOMINANT_SHARE_GATE,
  };
}
