/**
 * How large an attack is, for the choice between attacks when a table is full: of its packets and its bits, the larger
 * share of a link. Absolute, and on purpose not a factor over the threshold: thresholds differ by hostgroup, so that an
 * attacker could outrank a flood with small attacks on hosts with low thresholds.
 */
import { METRICS, type Metric, type Rates } from "../../traffic/rates.ts";

const PPS = METRICS.indexOf("pps");
const MBPS = METRICS.indexOf("mbps");
/** As many small packets per second as one megabit per second: 1,000 Mbit/s count as much as 100,000 packets/s. */
const PACKETS_PER_MEGABIT = 100;

/** Megabits per second, or packets expressed in them, whichever is more. `from`: index in `rates`. */
export function sizeOfRates(rates: Rates, from = 0): number {
  return Math.max(rates[from + MBPS] ?? 0, (rates[from + PPS] ?? 0) / PACKETS_PER_MEGABIT);
}

/** The size of an attack of which one rate is known. */
export function sizeOfRate(metric: Metric, rate: number): number {
  return metric.endsWith("mbps") ? rate : rate / PACKETS_PER_MEGABIT;
}

/** The others as they come, then the new ones, the largest first: at a bound there may be room for no more. */
export function newLargestFirst<Each extends OfAttack>(all: readonly Each[], isNew: (one: Each) => boolean): Each[] {
  const { true: fresh = [], false: others = [] } = Object.groupBy(all, (one) => String(isNew(one)) as "true" | "false");
  return [...others, ...fresh.sort((a, b) => sizeOfRates(b.attack.rates) - sizeOfRates(a.attack.rates))];
}

interface OfAttack {
  readonly attack: { readonly rates: Parameters<typeof sizeOfRates>[0] };
}
