/** The traffic of the last minutes by direction and protocol, collected while the page is open, in every view. */
import { signal } from "@preact/signals";
import type { HostgroupRatesWire } from "../../src/http/wire/traffic/hostgroup-rates.ts";
import type { RatesWire } from "../../src/traffic/rates.ts";

export const PROTOCOLS = ["udp", "tcp", "icmp", "other"] as const;
export type Protocol = (typeof PROTOCOLS)[number];
export type Direction = "incoming" | "outgoing";
export type Unit = "pps" | "mbps";

/** Sum over all hosts that the caller may see. */
type Split = Readonly<Record<Unit, Readonly<Record<Protocol, number>>>>;

export interface TracePoint {
  /** Seconds since the epoch. */
  readonly at: number;
  readonly incoming: Split;
  readonly outgoing: Split;
}

/** Half an hour at the usual period. */
export const TRACE_POINTS_MAX = 900;

export const trace = signal<readonly TracePoint[]>([]);

type Sums = Pick<HostgroupRatesWire, "rates" | "rates_out">;

export function traced({ hostgroups }: { readonly hostgroups: readonly Sums[] }, atMs: number): void {
  const point = {
    at: Math.floor(atMs / 1000),
    incoming: splitOf(hostgroups.map(({ rates }) => rates)),
    outgoing: splitOf(hostgroups.map(({ rates_out }) => rates_out)),
  };
  // There may be two readings in one second when a hidden tab becomes visible, but a chart has one value for each time.
  const before = trace.peek().filter(({ at }) => at < point.at);
  trace.value = [...before.slice(1 - TRACE_POINTS_MAX), point];
}

export function clearTrace(): void {
  trace.value = [];
}

export function total(split: Split, unit: Unit): number {
  return PROTOCOLS.reduce((sum, protocol) => sum + split[unit][protocol], 0);
}

export function splitOf(rates: readonly RatesWire[]): Split {
  return { pps: byProtocol(rates, "pps"), mbps: byProtocol(rates, "mbps") };
}

function byProtocol(rates: readonly RatesWire[], unit: Unit): Readonly<Record<Protocol, number>> {
  const sum = (value: (rate: RatesWire) => number | undefined) =>
    rates.reduce((all, rate) => all + (value(rate) ?? 0), 0);
  const udp = sum((rate) => rate[`udp_${unit}`]);
  const tcp = sum((rate) => rate[`tcp_${unit}`]);
  const icmp = sum((rate) => rate[`icmp_${unit}`]);
  return { udp, tcp, icmp, other: Math.max(0, sum((rate) => rate[unit]) - udp - tcp - icmp) };
}
