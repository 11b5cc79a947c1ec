/** The interface's values as readable words. */
import { formFor, t } from "../../language.ts";

const METHODS: Readonly<Record<string, string>> = {
  blackhole: t`Blackhole`,
  flowspec: t`FlowSpec`,
  divert: t`Divert to scrubbing`,
  scrub: t`Scrub here`,
  none: t`Watch only`,
};

export function methodName(method: string): string {
  return METHODS[method] ?? method;
}

export const DIRECTION_NAMES = { incoming: t`Incoming`, outgoing: t`Outgoing` } as const;

const PROTOCOL_NUMBERS: Readonly<Record<number, string>> = { 1: "ICMP", 6: "TCP", 17: "UDP", 47: "GRE", 58: t`ICMPv6` };

/** The protocol of a number in the IP header. */
export function protocolName(protocol: number): string {
  return PROTOCOL_NUMBERS[protocol] ?? t`protocol ${protocol}`;
}

/** `udp` is `UDP`, as samples name it. */
export function protocolWord(protocol: string): string {
  return protocol === "icmpv6" ? t`ICMPv6` : /^[a-z0-9-]+$/.test(protocol) ? protocol.toUpperCase() : protocol;
}

const FLAGS = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];

/** `SYN+ACK`. */
export function tcpFlagNames(flags: number): string {
  return FLAGS.filter((_, bit) => (flags & (1 << bit)) !== 0).join("+");
}

/** `1 attack`, `3 attacks`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${formFor(count, `${one}|${many}`)}`;
}

/** At the begin of a sentence or a title. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
