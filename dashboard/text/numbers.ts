/** Quantities as they are read at a glance: three digits, the unit always there. */
import type { Metric } from "../../src/traffic/rates.ts";

const PREFIXES = ["", "k", "M", "G", "T", "P"] as const;

/** `1.24 M`, `980`, `12.3 k`: a prefix as soon as there are four digits. */
export function scaled(value: number): string {
  if (!Number.isFinite(value)) return "–";
  let [rest, step] = [Math.abs(value), 0];
  // 999.6 has four digits once it is rounded.
  while (rest >= 999.5 && step < PREFIXES.length - 1) [rest, step] = [rest / 1000, step + 1];
  const digits = rest >= 99.95 || (step === 0 && rest >= 9.95) ? 0 : rest >= 9.95 ? 1 : 2;
  const text = step === 0 && Number.isInteger(rest) ? String(rest) : rest.toFixed(digits);
  const sign = value < 0 ? "−" : "";
  return `${sign}${text}${PREFIXES[step] === "" ? "" : ` ${PREFIXES[step]}`}`;
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

export function byteCount(bytes: number): string {
  return withUnit(bytes, "B");
}

/** With its unit, by what the metric counts. */
export function rateOf(metric: string, value: number): string {
  if (metric.endsWith("mbps")) return bitRate(value);
  return metric.endsWith("pps") ? packetRate(value) : flowRate(value);
}

/** `12 345`, with a narrow space that no line breaks at. */
export function wholeNumber(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** `43 %`, `0.3 %`. */
export function percent(share: number): string {
  const value = share * 100;
  return `${value > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} %`;
}

/** How many times: `12×`, `1.3×`. */
export function times(factor: number): string {
  return `${factor >= 9.95 ? wholeNumber(factor) : factor.toFixed(1)}×`;
}

function withUnit(value: number, unit: string): string {
  const text = scaled(value);
  return /[a-z]$/i.test(text) ? `${text}${unit}` : `${text} ${unit}`;
}

export const METRIC_NAMES: Readonly<Record<Metric, string>> = {
  pps: "packets",
  mbps: "bandwidth",
  flows_per_sec: "new flows",
  tcp_pps: "TCP packets",
  tcp_mbps: "TCP bandwidth",
  udp_pps: "UDP packets",
  udp_mbps: "UDP bandwidth",
  icmp_pps: "ICMP packets",
  icmp_mbps: "ICMP bandwidth",
  tcp_syn_pps: "SYN packets",
  tcp_syn_mbps: "SYN bandwidth",
  frag_pps: "fragments",
  frag_mbps: "fragment bandwidth",
};

/** In words; one that is newer than this page by its own name. */
export function metricName(metric: string): string {
  return (METRIC_NAMES as Readonly<Record<string, string>>)[metric] ?? metric;
}
