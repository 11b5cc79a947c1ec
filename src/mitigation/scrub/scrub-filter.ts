/** The filter of the method `scrub` for the traffic of a victim, beside rules that match its attack. */
import { exactly, type Range, rangesText } from "../../net/range.ts";
import { IP_PROTOCOL, protocolName } from "../../traffic/ip-protocol.ts";
import { mbpsText } from "../../traffic/rates.ts";

/**
 * How unknown sources of TCP prove their address (addon/bpf/validate_source.h).
 *
 * - `reset`: the source's SYN is answered in the victim's name, and the connection is reset once the source has answered
 *   in turn; the client opens another.
 * - `transparent`: the source's SYN is answered with an acknowledgement that it must reset; its SYN, sent again, passes.
 *   Weaker: any host without a firewall resets an unsolicited ACK, so an attacker can use the addresses of such hosts.
 */
export type ValidationWay = "reset" | "transparent";

export interface ScrubFilter {
  /** null: sources of TCP need not prove their address. */
  readonly tcp: ValidationWay | null;
  /** `reset` in place of `transparent`, which did not hold the attack. Absent: as configured. */
  readonly isStrict?: true;
  /** They are remembered, since they must as soon as the attack uses TCP. Absent: they are not. */
  readonly learnsTcp?: true;
  /** Sources of DNS queries must prove their address, by TCP. */
  readonly dns: boolean;
  /** Answers pass only if the victim asked their source. */
  readonly askedOnly: boolean;
  /** Maximum rate of all sources together that had connections before; 0: any rate. */
  readonly learnedBytesPerSecond: number;
  readonly sourceLimits: SourceLimits;
  /** Named sets of prefixes whose sources are dropped. Absent: none. */
  readonly blockedSets?: readonly string[];
  /** All else is dropped. null: any traffic. */
  readonly services: readonly Service[] | null;
  /** Nothing is dropped or answered, and counted what would be. */
  readonly countsOnly: boolean;
}

/** Maximum per source and second; 0: any. */
export interface SourceLimits {
  readonly packets: number;
  readonly bytes: number;
  /** SYN without ACK. */
  readonly connections: number;
  /** How much of an address is a source. */
  readonly ipv4Length: number;
  readonly ipv6Length: number;
}

/** Traffic that the victim is there for. Empty lists: any port. */
export interface Service {
  readonly protocol: number;
  readonly ports: readonly Range[];
  /** For answers that the victim asks others for. */
  readonly sourcePorts: readonly Range[];
  /** To each address, of all sources together. Absent: any rate. */
  readonly packetsPerSecond?: number;
}

export const NO_SOURCE_LIMITS: SourceLimits = {
  packets: 0,
  bytes: 0,
  connections: 0,
  ipv4Length: 32,
  ipv6Length: 64,
};

/**
 * Packets per second of each source, unless configured, where sources prove their address. A cookie has 30 secret bits
 * (COOKIE_TAG_MASK in addon/abi/source_abi.h): 10 million guesses a second hit one every 2^30 / 10^7 = 107 s, each for
 * another source, and it passes for ten minutes. Those about six sources together then send 1 % of the flood.
 */
export const PROVEN_SOURCE_PACKETS = 20_000;

/** The port of DNS over UDP and TCP. */
export const DNS_PORT = 53;

/**
 * `validate tcp transparent; validate dns; dst 192.0.2.1/32 proto udp discard; each source 1000 packets/s; only tcp/80,443
 * udp/53`: in the order in which it is done; "": nothing.
 * @param attack what is done about the attack itself, as text.
 */
export function filterText(filter: ScrubFilter, attack: string): string {
  const { tcp, dns, askedOnly, sourceLimits, blockedSets = [], services, countsOnly } = filter;
  const { packets, bytes, connections } = sourceLimits;
  const limits = [
    connections > 0 ? `${connections} connections/s` : "",
    packets > 0 ? `${packets} packets/s` : "",
    bytes > 0 ? mbpsText(bytes) : "",
  ].filter((limit) => limit !== "");
  const parts = [
    countsOnly ? "only counted" : "",
    blockedSets.length === 0 ? "" : `drop sources in ${blockedSets.join(" ")}`,
    tcp === null ? "" : `validate tcp ${tcp}`,
    dns ? "validate dns" : "",
    askedOnly ? "only answers that were requested" : "",
    attack,
    limits.length === 0 ? "" : `each source ${limits.join(" ")}`,
    services === null ? "" : `only ${services.map(serviceText).join(" ")}`,
  ];
  return parts.filter((part) => part !== "").join("; ");
}

/** `tcp/80,443`, `udp/from 53`, `icmp at 100 packets/s`. */
export function serviceText({ protocol, ports, sourcePorts, packetsPerSecond }: Service): string {
  const to = rangesText(ports);
  const from = rangesText(sourcePorts);
  const parts = [to, from === null ? null : `from ${from}`].filter((part) => part !== null);
  const rate = packetsPerSecond === undefined ? "" : ` at ${packetsPerSecond} packets/s`;
  return `${protocolName(protocol)}${parts.length === 0 ? "" : `/${parts.join(" ")}`}${rate}`;
}

const { tcp, udp, icmp, icmpv6, gre, esp, ah } = IP_PROTOCOL;

const service = (protocol: number, ...ports: number[]): Service => ({
  protocol,
  ports: ports.flatMap(exactly),
  sourcePorts: [],
});
/** The answers of resolvers and time servers. */
const ANSWERS: Service = { protocol: udp, ports: [], sourcePorts: [53, 123].flatMap(exactly) };
/** Errors and echo. Reflections and floods bring errors, too: what no victim can do without passes before all rules. */
const CONTROL = [icmp, icmpv6].map((protocol): Service => ({ ...service(protocol), packetsPerSecond: 100 }));
/** Source ports of a game's players: registered ports and above. */
const GAME: Service = { protocol: udp, ports: [{ from: 1024, to: 65_535 }], sourcePorts: [] };

/** Common kinds of victims. All other settings are as for any victim. */
export const PROFILES: Readonly<Record<string, Partial<ScrubFilter>>> = {
  web: {
    services: [service(tcp, 80, 443), service(udp, 443), ANSWERS, ...CONTROL],
    sourceLimits: { ...NO_SOURCE_LIMITS, packets: 20_000, connections: 200 },
  },
  dns: {
    dns: true,
    services: [service(udp, 53), service(tcp, 53, 443, 853), ANSWERS, ...CONTROL],
    sourceLimits: { ...NO_SOURCE_LIMITS, packets: 2000, connections: 100 },
  },
  mail: {
    services: [service(tcp, 25, 110, 143, 465), service(tcp, 587, 993, 995), ANSWERS, ...CONTROL],
    sourceLimits: { ...NO_SOURCE_LIMITS, packets: 20_000, connections: 50 },
  },
  game: {
    services: [GAME, service(tcp), ANSWERS, ...CONTROL],
    sourceLimits: { ...NO_SOURCE_LIMITS, packets: 500, connections: 20 },
  },
  vpn: {
    services: [
      service(udp, 443, 500, 1194, 4500, 51_820),
      service(tcp, 443, 1194),
      ...[esp, ah, gre].map((protocol) => service(protocol)),
      ANSWERS,
      ...CONTROL,
    ],
    sourceLimits: { ...NO_SOURCE_LIMITS, connections: 20 },
  },
};
