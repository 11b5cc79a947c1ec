/** The services that the configuration says a victim is there for, beside which rules are made and judged. Pure. */
import { isInRanges, type Range } from "../../net/range.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import type { Service } from "../scrub/scrub-filter.ts";
import { matchesOnlyDestination } from "./match.ts";
import type { Rule } from "./rule.ts";

/** Lengths of IP packets with a transport header, bytes. */
const LENGTHS = [60, 1400];
const CLIENT_PORT = 49_152;
const ACK = 0x10;
const TCP = 6;

/** Packets to and from the first and last port of each service: what users send, before any is seen. */
export function servicePackets(services: readonly Service[], like: PacketHeader): PacketHeader[] {
  return services.flatMap(({ protocol, ports, sourcePorts }) => {
    const { source, destination } = like;
    const plain = { source, destination, protocol, tcpFlags: protocol === TCP ? ACK : null, fragment: null };
    const hasPorts = ports.length + sourcePorts.length > 0;
    const pairs = endsOf(ports).flatMap((destination) =>
      endsOf(sourcePorts).map((source) => ({ destination, source })),
    );
    return LENGTHS.flatMap((packetBytes) =>
      pairs.map((pair): PacketHeader => ({ ...plain, packetBytes, ports: hasPorts ? pair : null })),
    );
  });
}

function endsOf(ranges: readonly Range[]): readonly number[] {
  return ranges.length === 0 ? [CLIENT_PORT] : [...new Set(ranges.flatMap(({ from, to }) => [from, to]))];
}

/** Whether the rule can match packets of one of the services. */
export function canMatchAny(rule: Rule, services: readonly Service[]): boolean {
  return services.some(
    ({ protocol, ports, sourcePorts }) =>
      matchesOnlyDestination(rule) ||
      (isInRanges(rule.protocols, protocol) &&
        overlap(rule.destinationPorts, ports) &&
        overlap(rule.sourcePorts, sourcePorts)),
  );
}

/** No range at all is every value. */
function overlap(a: readonly Range[], b: readonly Range[]): boolean {
  if (a.length === 0 || b.length === 0) return true;
  return a.some((one) => b.some((other) => one.from <= other.to && other.from <= one.to));
}

/** Those that users ask the victim for, without the answers that it asks others for. */
export function servedOf(services: readonly Service[]): readonly Service[] {
  return services.filter(({ sourcePorts }) => sourcePorts.length === 0);
}
