/**
 * A rate relative to its threshold, which is in the middle of the bar: left of it the rate is below the threshold; each
 * factor of ten fills half of the right side.
 */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { t } from "../language.ts";
import { plusMinus, rateOf, times } from "../text/format/numbers.ts";

interface RateMeterProps {
  readonly metric: string;
  readonly rate: number;
  readonly threshold: number;
  /** The error of all packets and bits; undefined: the rate is exact. */
  readonly error?: AttackWire["sampling_error"];
}

export function RateMeter({ metric, rate, threshold, error }: RateMeterProps) {
  const factor = threshold > 0 ? rate / threshold : 0;
  return (
    <div class="rate-meter">
      <div class="rate-figures">
        <strong class="number">{rateOf(metric, rate) + plusMinus(errorOf(metric, error))}</strong>
        <span>{t`${times(factor)} the threshold of ${rateOf(metric, threshold)}`}</span>
      </div>
      <div class="rate-bar" aria-hidden="true">
        <div class={`rate-fill${factor > 1 ? " is-over" : ""}`} style={{ width: `${100 * shareOfBar(factor)}%` }} />
      </div>
    </div>
  );
}

/** The error of a part of the traffic is not known: it is larger than that of all. */
function errorOf(metric: string, error: RateMeterProps["error"]): number | undefined {
  return metric === "pps" || metric === "mbps" ? error?.[metric] : undefined;
}

/** 0 to 1: the threshold is at 0.5, a hundred times the threshold at 1. */
function shareOfBar(factor: number): number {
  if (factor <= 1) return Math.max(0, factor) / 2;
  return Math.min(1, 0.5 + Math.log10(factor) / 4);
}
