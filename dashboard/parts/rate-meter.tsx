/**
 * A rate relative to its threshold, which is in the middle of the bar: left of it the rate is below the threshold; each
 * factor of ten fills half of the right side.
 */
import { rateOf, times } from "../text/format/numbers.ts";

export interface RateMeterProps {
  readonly metric: string;
  readonly rate: number;
  readonly threshold: number;
}

export function RateMeter({ metric, rate, threshold }: RateMeterProps) {
  const factor = threshold > 0 ? rate / threshold : 0;
  return (
    <div class="rate-meter">
      <div class="rate-figures">
        <strong class="number">{rateOf(metric, rate)}</strong>
        <span>
          {times(factor)} the threshold of {rateOf(metric, threshold)}
        </span>
      </div>
      <div class="rate-bar" aria-hidden="true">
        <div class={`rate-fill${factor > 1 ? " is-over" : ""}`} style={{ width: `${100 * shareOfBar(factor)}%` }} />
      </div>
    </div>
  );
}

/** 0 to 1: the threshold is at 0.5, a hundred times the threshold at 1. */
function shareOfBar(factor: number): number {
  if (factor <= 1) return Math.max(0, factor) / 2;
  return Math.min(1, 0.5 + Math.log10(factor) / 4);
}
