/**
 * Traffic of the hosts of a prefix in the last minute, by service: before a profile is chosen for it. Estimated from
 * sampled headers. Pure.
 */
import type { MinuteHeader, MinuteReading } from "../../detection/attack/minute-sample.ts";
import type { Prefix } from "../../net/prefix.ts";
import { prefixMatcher } from "../../net/prefix.ts";
import { protocolName } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";

/** Means over the time of the sample. */
export interface ReceivedServices {
  /** The number of headers that it rests on, and the time that they are of. */
  readonly headers: number;
  readonly seconds: number;
  readonly total: { readonly pps: number; readonly mbps: number };
  /** The part of the total to hosts under attack. */
  readonly attackedShare: number;
  /** The largest first, of those that are more than chance. */
  readonly services: readonly {
    /** `tcp/443`, or `esp` of a protocol without ports. */
    readonly service: string;
    readonly pps: number;
    readonly mbps: number;
  }[];
}

/** Fewer say nothing: a share of a tenth is then known to a factor of two at best. */
const HEADERS_MIN = 40;
const SERVICES_MAX = 10;
/** Answers to connections of the hosts themselves go to ports that come once or twice. */
const SERVICE_HEADERS_MIN = 3;

/** null: too little is known. */
export function receivedServices({ headers, seconds }: MinuteReading, prefix: Prefix): ReceivedServices | null {
  const isInside = prefixMatcher(prefix);
  const own = headers.filter(({ header }) => isInside(header.destination));
  if (own.length < HEADERS_MIN || seconds === 0) return null;
  const all = sumOf(own, seconds);
  const attacked = sumOf(
    own.filter(({ isAttacked }) => isAttacked),
    seconds,
  );
  const services = [...Map.groupBy(own, ({ header }) => serviceOf(header))]
    .filter(([, of]) => of.length >= SERVICE_HEADERS_MIN)
    .map(([service, of]) => ({ service, ...sumOf(of, seconds) }))
    .sort((a, b) => b.pps - a.pps || (a.service < b.service ? -1 : 1));
  return {
    ...{ headers: own.length, seconds, total: all, attackedShare: attacked.pps / all.pps },
    services: services.slice(0, SERVICES_MAX),
  };
}

function serviceOf({ protocol, ports }: PacketHeader): string {
  return ports === null ? protocolName(protocol) : `${protocolName(protocol)}/${ports.destination}`;
}

function sumOf(headers: readonly MinuteHeader[], seconds: number): { readonly pps: number; readonly mbps: number } {
  const packets = headers.reduce((sum, one) => sum + one.packets, 0);
  const bytes = headers.reduce((sum, one) => sum + one.packets * one.wireBytes, 0);
  return { pps: packets / seconds, mbps: (8 * bytes) / 1e6 / seconds };
}
