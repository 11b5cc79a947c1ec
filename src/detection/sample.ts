/**
 * The flow sample of an attack (interface 2.4): who sends what to which ports, told from the headers of some of its
 * packets. Pure; where the headers come from is the sampler's matter.
 */
import type { IpAddress } from "../net/address.ts";
import { protocolName } from "../traffic/ip-protocol.ts";
import type { PacketHeader } from "../traffic/packet-header.ts";

export interface SampledPacket {
  readonly header: PacketHeader;
  /** Length of the frame on the wire. */
  readonly wireBytes: number;
  /** Packets on the wire that this one was drawn from. */
  readonly standsFor: number;
}

/** What the sampled packets with one key come to. */
export interface Share {
  readonly key: string;
  readonly packets: number;
  readonly bytes: number;
}

/** One sampled packet. null: it has none, or its headers do not show it. */
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
  /** Packets that were sampled, not packets of the attack. */
  readonly totalPackets: number;
  /** Most packets first. Packets without ports are in no list of ports. */
  readonly topSources: readonly Share[];
  readonly topSourcePorts: readonly Share[];
  readonly topDestinationPorts: readonly Share[];
  readonly protocols: readonly Share[];
  /** Newest first. */
  readonly flows: readonly SampledFlow[];
}

export interface SampleBounds {
  /** Entries of each list of shares. */
  readonly top: number;
  readonly flows: number;
}

/** @param packets newest last. */
export function sampleOf(packets: readonly SampledPacket[], { top, flows }: SampleBounds): Sample {
  const shares = (keyOf: (header: PacketHeader) => string | number | null) => largestShares(packets, keyOf, top);
  return {
    totalPackets: packets.length,
    topSources: shares(({ source }) => source),
    topSourcePorts: shares(({ ports }) => ports?.source ?? null),
    topDestinationPorts: shares(({ ports }) => ports?.destination ?? null),
    protocols: shares(({ protocol }) => protocolName(protocol)),
    flows: packets
      .slice(Math.max(0, packets.length - flows))
      .toReversed()
      .map(flowOf),
  };
}

function largestShares(
  packets: readonly SampledPacket[],
  keyOf: (header: PacketHeader) => string | number | null,
  top: number,
): Share[] {
  const shares = new Map<string | number, { packets: number; bytes: number }>();
  for (const { header, wireBytes } of packets) {
    const key = keyOf(header);
    if (key === null) continue;
    const share = shares.get(key);
    if (share === undefined) shares.set(key, { packets: 1, bytes: wireBytes });
    else {
      share.packets++;
      share.bytes += wireBytes;
    }
  }
  return [...shares]
    .sort(([, a], [, b]) => b.packets - a.packets || b.bytes - a.bytes)
    .slice(0, top)
    .map(([key, share]) => ({ key: String(key), ...share }));
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
