/**
 * The flow sample of an attack (docs/interface.md#sample): sources, ports and protocols from the headers of some of its
 * packets. Pure; the sampler supplies the headers.
 */
import type { IpAddress } from "../../net/address.ts";
import { type IngressOf, numberedIngress } from "../../traffic/ingress.ts";
import { protocolName } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { announcedPrefix } from "./attack-sources.ts";
import { type InterfaceShare, interfacesOf } from "./sample-ingress.ts";
import { type OriginOf, originsOf, type SampleOrigins } from "./sample-origins.ts";
import { largestShares, type SampledPacket, type Share } from "./sample-shares.ts";

export type { SampledPacket, Share } from "./sample-shares.ts";

/** One sampled packet. null: the header has no such field. */
export interface SampledFlow {
  readonly source: IpAddress;
  readonly destination: IpAddress;
  readonly protocol: string;
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  readonly tcpFlags: number | null;
  readonly bytes: number;
}

export interface Sample {
  /** Number of sampled packets, not of the attack's packets. */
  readonly totalPackets: number;
  /** Most packets first. Packets without ports are omitted from lists of ports. */
  readonly topSources: readonly Share[];
  readonly topSourcePorts: readonly Share[];
  readonly topDestinationPorts: readonly Share[];
  readonly protocols: readonly Share[];
  /** Prefixes of the sources, /24 and /48. Absent: of a build before, or without packets. */
  readonly topPrefixes?: readonly Share[];
  /** Absent: nothing says where the packets came into the network. */
  readonly topInterfaces?: readonly InterfaceShare[];
  /** Newest first. */
  readonly flows: readonly SampledFlow[];
  /** null: no lookup is configured, and no exporter reported any. */
  readonly origins: SampleOrigins | null;
}

export interface SampleBounds {
  /** Entries of each list of shares. */
  readonly top: number;
  readonly flows: number;
}

/**
 * @param packets newest last.
 * @param originOf null: no lookup of origins is configured.
 * @param ingressOf names of exporters and interfaces.
 */
export function sampleOf(
  packets: readonly SampledPacket[],
  { top, flows }: SampleBounds,
  originOf: OriginOf | null = null,
  ingressOf: IngressOf = numberedIngress,
): Sample {
  const shares = (keyOf: (header: PacketHeader) => string | number | null) => largestShares(packets, keyOf, top);
  const topSources = shares(({ source }) => source);
  const topPrefixes = shares(({ source }) => announcedPrefix(source));
  const topInterfaces = interfacesOf(packets, ingressOf, top);
  return {
    totalPackets: packets.length,
    topSources,
    topSourcePorts: shares(({ ports }) => ports?.source ?? null),
    topDestinationPorts: shares(({ ports }) => ports?.destination ?? null),
    protocols: shares(({ protocol }) => protocolName(protocol)),
    ...(topPrefixes.length === 0 ? {} : { topPrefixes }),
    ...(topInterfaces.length === 0 ? {} : { topInterfaces }),
    flows: packets
      .slice(Math.max(0, packets.length - flows))
      .toReversed()
      .map(flowOf),
    origins: originsOf(packets, topSources, { originOf, top }),
  };
}

function flowOf({ header, wireBytes }: SampledPacket): SampledFlow {
  const { source, destination, protocol, ports, tcpFlags } = header;
  return {
    source,
    destination,
    protocol: protocolName(protocol),
    sourcePort: ports?.source ?? null,
    destinationPort: ports?.destination ?? null,
    tcpFlags,
    bytes: wireBytes,
  };
}
