/**
 * Selects the packets of an attack among those of a host: the ones counted by the metrics above their thresholds. So a
 * SYN flood is recognized even in five times as much other traffic.
 */

import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { BASE_TRIO, BYTES_PER_MEGABIT, METRICS, type Metric } from "../../traffic/rates.ts";
import type { Attack } from "./attack.ts";
import type { TrafficUnit } from "./classifier.ts";

interface AttackTraffic {
  readonly isPartOf: (header: PacketHeader) => boolean;
  readonly unit: TrafficUnit;
  /** Rate divided by threshold, of the first metric above its threshold. */
  readonly timesThreshold: number;
  /** Rate of that metric, in packets, bytes or flows a second. */
  readonly perSecond: number;
}

type Judged = Pick<Attack, "rates" | "thresholds" | "metric">;

export function attackTraffic({ rates, thresholds, metric }: Judged): AttackTraffic {
  const times = (index: number) => {
    const threshold = thresholds[index] ?? 0;
    return threshold > 0 ? (rates[index] ?? 0) / threshold : 0;
  };
  const over = METRICS.flatMap((_, index) => (times(index) > 1 ? [index] : []));
  const judged = over.length > 0 ? over : [METRICS.indexOf(metric)];
  const first = judged[0] as number;
  const isOfBase = judged.some((index) => index < BASE_TRIO);
  const classes = judged.map((index) => CLASSES[METRICS[index] as Metric]);
  return {
    isPartOf: (header) => isOfBase || classes.some((isOf) => isOf(header)),
    unit: unitOf(METRICS[first] as Metric),
    timesThreshold: Math.max(1, times(first)),
    perSecond: (rates[first] ?? 0) * (unitOf(METRICS[first] as Metric) === "bytes" ? BYTES_PER_MEGABIT : 1),
  };
}

function unitOf(metric: Metric): TrafficUnit {
  if (metric === "flows_per_sec") return "flows";
  return metric.endsWith("mbps") ? "bytes" : "packets";
}

type PacketClass = (header: PacketHeader) => boolean;

const every: PacketClass = () => true;
const tcp: PacketClass = ({ protocol }) => protocol === IP_PROTOCOL.tcp;
const udp: PacketClass = ({ protocol }) => protocol === IP_PROTOCOL.udp;
const icmp: PacketClass = ({ protocol }) => protocol === IP_PROTOCOL.icmp || protocol === IP_PROTOCOL.icmpv6;
const syn: PacketClass = ({ tcpFlags }) => tcpFlags !== null && (tcpFlags & 0x12) === 0x02;
const frag: PacketClass = ({ fragment }) => fragment !== null;

/** The same classes as in the packet counter. */
const CLASSES: Readonly<Record<Metric, PacketClass>> = {
  pps: every,
  mbps: every,
  flows_per_sec: every,
  tcp_pps: tcp,
  tcp_mbps: tcp,
  udp_pps: udp,
  udp_mbps: udp,
  icmp_pps: icmp,
  icmp_mbps: icmp,
  tcp_syn_pps: syn,
  tcp_syn_mbps: syn,
  frag_pps: frag,
  frag_mbps: frag,
};
