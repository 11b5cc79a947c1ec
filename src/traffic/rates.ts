/**
 * The thirteen metrics of one host in one direction, their order, and their form on the wire (docs/interface.md#rates).
 */
import { METRICS } from "../native/constants.ts";

/** In the order in which thresholds are judged. */
export { METRICS };

export type Metric = (typeof METRICS)[number];
export const DIRECTIONS = ["incoming", "outgoing"] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** One value per metric, in the order of METRICS: packets, megabits (10^6) or new flows per second. */
export type Rates = ArrayLike<number>;

/** One value per metric in the order of METRICS; 0 is off. */
export type Thresholds = readonly number[];

export const BASE_TRIO = 3;

export type RatesWire = Partial<Record<Metric, number>> &
  Pick<Record<Metric, number>, "pps" | "mbps" | "flows_per_sec">;

/** The base trio always, the others only if nonzero. Rounded to three decimals. */
export function ratesToWire(rates: Rates): RatesWire {
  const wire: Record<string, number> = {};
  for (let i = 0; i < METRICS.length; i++) {
    const value = round(rates[i] ?? 0);
    if (i < BASE_TRIO || value !== 0) wire[METRICS[i] as Metric] = value;
  }
  return wire as RatesWire;
}

export function round(rate: number): number {
  return Math.round(rate * 1000) / 1000;
}

/** Metrics of bytes are in megabits. */
export const BYTES_PER_MEGABIT = 125_000;

/** As orders have rates; equal ones have equal texts. */
export function mbpsText(bytesPerSecond: number): string {
  return `${Number(((bytesPerSecond * 8) / 1e6).toPrecision(12))} Mbit/s`;
}
