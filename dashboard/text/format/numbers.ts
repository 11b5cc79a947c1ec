/** Quantities with three digits and their unit. Pure. */
import type { Metric } from "../../../src/traffic/rates.ts";
import { LOCALE, t } from "../../language.ts";

const PREFIXES = ["", "k", "M", "G", "T", "P"] as const;

/** `1.24 M`, `980`, `12.3 k`: four digits or more get a prefix. */
export function scaled(value: number): string {
  if (!Number.isFinite(value)) return "–";
  let [rest, step] = [Math.abs(value), 0];
  // Two digits would be zeros: sums of fractions are not exact.
  if (rest < 0.005) return "0";
  // 999.6 has four digits after rounding.
  while (rest >= 999.5 && step < PREFIXES.length - 1) [rest, step] = [rest / 1000, step + 1];
  const digits = rest >= 99.95 || (step === 0 && rest >= 9.95) ? 0 : rest >= 9.995 ? 1 : 2;
  const text = step === 0 && Number.isInteger(rest) ? String(rest) : decimal(rest, digits);
  const sign = value < 0 ? "−" : "";
  return `${sign}${text}${PREFIXES[step] === "" ? "" : ` ${PREFIXES[step]}`}`;
}

const DECIMALS = [0, 1, 2, 3].map(
  (digits) =>
    new Intl.NumberFormat(LOCALE, {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
      useGrouping: false,
    }),
);

/** `1.24`, in German `1,24`. @param digits after the point, at most 3 */
export function decimal(value: number, digits: number): string {
  return DECIMALS[digits]?.format(value) ?? value.toFixed(digits);
}

/** `1.24 Mpps`. */
export function packetRate(pps: number): string {
  return withUnit(pps, "pps");
}

/** `3.40 Gbit/s`. */
export function bitRate(mbps: number): string {
  return withUnit(mbps * 1e6, "bit/s");
}

export function flowRate(flowsPerSec: number): string {
  return withUnit(flowsPerSec, "flows/s");
}

/**
 * New flows alone: a flood that always sends from the same ports has none after its begin.
 * @param isSampled samples show each flow once at most: there may be more
 */
export function newFlowRate(flowsPerSec: number, isSampled: boolean): string {
  return isSampled ? t`at least ${scaled(flowsPerSec)} new flows/s` : t`${scaled(flowsPerSec)} new flows/s`;
}

export function byteCount(bytes: number): string {
  return withUnit(bytes, "B");
}

/** A rate with the unit of its metric. */
export function rateOf(metric: string, value: number): string {
  if (metric.endsWith("mbps")) return bitRate(value);
  return metric.endsWith("pps") ? packetRate(value) : flowRate(value);
}

/** `12 345`, with a narrow no-break space, as ISO 80000-1 has it for all languages. */
export function wholeNumber(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** `43 %`, `0.3 %`, `99.6 %`: 100 % is all, as beside 0.4 % that passed. */
export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 9.95) return `${decimal(value, 1)} %`;
  // Sums of fractions are not exact.
  if (value >= 99.5 && value < 100 - 1e-6) return `${decimal(Math.floor(10 * value + 1e-6) / 10, 1)} %`;
  return `${Math.round(value)} %`;
}

/** The error of an estimate after its value: ` ± 12 %`; of an exact one nothing. */
export function plusMinus(error: number | undefined): string {
  return error === undefined ? "" : ` ± ${percent(error)}`;
}

/** A factor: `12×`, `1.3×`. */
export function times(factor: number): string {
  return `${factor >= 9.95 ? wholeNumber(factor) : decimal(factor, 1)}×`;
}

function withUnit(value: number, unit: string): string {
  const text = scaled(value);
  return /[a-z]$/i.test(text) ? `${text}${unit}` : `${text} ${unit}`;
}

export const METRIC_NAMES: Readonly<Record<Metric, string>> = {
  pps: t`packets`,
  mbps: t`bandwidth`,
  flows_per_sec: t`new flows`,
  tcp_pps: t`TCP packets`,
  tcp_mbps: t`TCP bandwidth`,
  udp_pps: t`UDP packets`,
  udp_mbps: t`UDP bandwidth`,
  icmp_pps: t`ICMP packets`,
  icmp_mbps: t`ICMP bandwidth`,
  tcp_syn_pps: t`SYN packets`,
  tcp_syn_mbps: t`SYN bandwidth`,
  frag_pps: t`fragments`,
  frag_mbps: t`fragment bandwidth`,
};

/** The metric in words; metrics that this page does not know keep their name. */
export function metricName(metric: string): string {
  return (METRIC_NAMES as Readonly<Record<string, string>>)[metric] ?? metric;
}
