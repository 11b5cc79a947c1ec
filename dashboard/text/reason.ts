/** Why an attack was detected, in sentences. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { t } from "../language.ts";
import { metricName, rateOf } from "./format/numbers.ts";
import { duration } from "./format/times.ts";
import { capital } from "./format/words.ts";

/** The first sentence says which limit was exceeded, the others where that limit came from. */
export function reasonSentences({ metric, threshold, group, reason, active }: AttackWire): string[] {
  const over = t`${capital(metricName(metric))} went over ${rateOf(metric, threshold)}.`;
  const { baseline, threshold_source: source } = reason;
  if (source === "baseline" && baseline !== undefined) {
    const rate = (value: number) => rateOf(metric, value);
    const normal = reason.normal_of === "hour_of_week" ? t`Normal at this hour of the week` : t`Recent normal`;
    return [
      over,
      t`${normal} is ${rate(baseline.normal)}; ${baseline.factor} times that is the limit, ` +
        t`but never less than ${rate(baseline.floor)} nor more than ${rate(baseline.ceiling)}.`,
    ];
  }
  if (reason.warming_up === true) {
    const left = duration(reason.warmup_remaining_seconds ?? 0);
    const learning = active
      ? t`the baseline of the address was still being learned when it began (${left} left then)`
      : t`the baseline of the address was still being learned then (${left} left)`;
    return [over, t`It was the fixed threshold of hostgroup ${group}: ${learning}.`];
  }
  return [
    over,
    active ? t`It is the fixed threshold of hostgroup ${group}.` : t`It was the fixed threshold of hostgroup ${group}.`,
  ];
}
