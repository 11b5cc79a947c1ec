/** A scrub filter in words, for people. Pure. */
import { type ScrubFilter, type SourceLimits, serviceText } from "./scrub-filter.ts";

interface FilterWords {
  /** Services, as `tcp/80,443` or `udp/from 53`; all else is dropped. null: any traffic is allowed. */
  readonly allowed: readonly string[] | null;
  /** How sources prove that they are what they say. */
  readonly validators: readonly string[];
  readonly limits: readonly string[];
}

const TCP_WORDS = {
  transparent: "TCP: unknown sources prove their address, and their connections then go to the victim",
  reset: "TCP: unknown sources prove their address, are reset, and connect again",
};

export function filterWords({ tcp, dns, askedOnly, ...filter }: ScrubFilter): FilterWords {
  const validators = [
    tcp === null ? "" : TCP_WORDS[tcp],
    dns ? "DNS over UDP: unknown sources must repeat their query over TCP" : "",
    askedOnly ? "answers that look like the attack's pass only from hosts to which the victim sent a query" : "",
  ];
  const learned = filter.learnedBytesPerSecond;
  const isLearnedLimited = (tcp !== null || dns) && learned > 0;
  return {
    allowed: filter.services?.map(serviceText) ?? null,
    validators: validators.filter((words) => words !== ""),
    limits: [
      ...sourceLimits(filter.sourceLimits),
      ...(isLearnedLimited
        ? [`${megabits(learned)} Mbit/s of all sources together that were connected before and have not proved it`]
        : []),
    ],
  };
}

function sourceLimits({ packets, bytes, connections, ipv4Length, ipv6Length }: SourceLimits): string[] {
  const widths = `IPv4 /${ipv4Length}, IPv6 /${ipv6Length}`;
  return [
    ...(packets > 0 ? [`${packets} packets/s of each source (${widths})`] : []),
    ...(bytes > 0 ? [`${megabits(bytes)} Mbit/s of each source (${widths})`] : []),
    ...(connections > 0 ? [`${connections} new TCP connections/s of each source (${widths})`] : []),
  ];
}

function megabits(bytesPerSecond: number): number {
  return Number(((bytesPerSecond * 8) / 1e6).toPrecision(6));
}
