/**
 * Rules of what the counters know of an attack in the tick in which it begins, before any packet of it is looked at: by
 * protocol, SYN and fragments. Pure.
 */
import type { CountedAttack } from "../../detection/attack/sampled-attack.ts";
import type { Prefix } from "../../net/prefix.ts";
import { exactly } from "../../net/range.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import { METRICS, type Metric } from "../../traffic/rates.ts";
import { NOTHING_KNOWN } from "../separability.ts";
import type { RuleAction } from "./action.ts";
import { type Rule, wideRule } from "./rule.ts";
import type { GeneratedRules } from "./rule-generator.ts";

const SYN = { set: 0x02, unset: 0x10 };

/** The narrowest first: a SYN flood is also one of TCP. */
const CLASSES: readonly { readonly metric: string; readonly fields: (family: 4 | 6) => Partial<Rule> }[] = [
  { metric: "tcp_syn", fields: () => ({ protocols: exactly(IP_PROTOCOL.tcp), tcpFlags: SYN }) },
  { metric: "frag", fields: () => ({ fragment: true }) },
  {
    metric: "icmp",
    fields: (family) => ({ protocols: exactly(family === 4 ? IP_PROTOCOL.icmp : IP_PROTOCOL.icmpv6) }),
  },
  { metric: "udp", fields: () => ({ protocols: exactly(IP_PROTOCOL.udp) }) },
  { metric: "tcp", fields: () => ({ protocols: exactly(IP_PROTOCOL.tcp) }) },
];

/** The class without which the rest would be below the threshold; all traffic where none is. */
export function counterRules(prefix: Prefix, attack: CountedAttack, action: RuleAction): GeneratedRules {
  const unit = attack.metric.endsWith("mbps") ? "mbps" : "pps";
  const rate = rateOf(attack, unit);
  const threshold = thresholdOf(attack, unit);
  const found = CLASSES.map((each) => ({ ...each, rate: rateOf(attack, `${each.metric}_${unit}` as Metric) })).find(
    (each) => each.rate > 0 && rate - each.rate <= Math.max(threshold, REST_SHARE * rate),
  );
  const wide = wideRule(prefix, action);
  const rule = found === undefined ? wide : { ...wide, ...found.fields(prefix.family) };
  const isIncoming = attack.direction === "incoming";
  return {
    rules: [isIncoming ? rule : { ...rule, destination: null, source: prefix }],
    matchesAll: found === undefined,
    separability: NOTHING_KNOWN,
    // Users send such packets, too.
    atRisk: [{ share: 1, isGuess: false }],
    matchedShare: found === undefined || rate === 0 ? 1 : found.rate / rate,
  };
}

/** The share of the traffic that is not part of an attack whose threshold is in another unit. */
const REST_SHARE = 0.1;

function rateOf({ rates }: CountedAttack, metric: Metric): number {
  return rates[METRICS.indexOf(metric)] ?? 0;
}

function thresholdOf({ thresholds, metric, threshold }: CountedAttack, unit: "pps" | "mbps"): number {
  return metric.endsWith(unit) ? threshold : (thresholds[METRICS.indexOf(unit)] ?? 0);
}
