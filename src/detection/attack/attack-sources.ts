/**
 * The sources of an attack's newest sampled packets: addresses, prefixes and origins with their shares, and the counts
 * that show whether the addresses may be forged. Pure.
 */
import { addressFamily, type IpAddress } from "../../net/address.ts";
import { enclosingPrefix } from "../../net/prefix.ts";
import { isSpecialPurpose } from "../../net/special-purpose.ts";
import { type IngressOf, numberedIngress } from "../../traffic/ingress.ts";
import { type InterfaceShare, interfacesOf } from "./sample-ingress.ts";
import { type OriginOf, originsOf, type SampleOrigins } from "./sample-origins.ts";
import { largestShares, type SampledPacket, type Share } from "./sample-shares.ts";

/** The longest prefix that is announced on the Internet. */
const PREFIX_BITS = { 4: 24, 6: 48 } as const;

export function announcedPrefix(source: IpAddress): string {
  // For speed: of each packet of each sample.
  if (addressFamily(source) === 4) return `${source.slice(0, source.lastIndexOf("."))}.0/24`;
  return enclosingPrefix(source, PREFIX_BITS[addressFamily(source)]).text;
}

export interface AttackSources {
  /** Number of sampled packets, not of the attack's packets. */
  readonly totalPackets: number;
  readonly distinct: number;
  /** Sources with one packet only. */
  readonly seenOnce: number;
  /** Sampled packets over IPv4, and the number of different /8 of their sources. */
  readonly ipv4Packets: number;
  readonly ipv4Blocks: number;
  /** Packets from addresses that nothing on the Internet has. */
  readonly specialPackets: number;
  /** Most packets first. */
  readonly topSources: readonly Share[];
  /** By /24 and /48. */
  readonly topPrefixes: readonly Share[];
  /** Empty: nothing says where the packets came into the network. */
  readonly topInterfaces: readonly InterfaceShare[];
  /** null: no lookup is configured, and no exporter reported any. */
  readonly origins: SampleOrigins | null;
}

interface SourcesBounds {
  /** Entries of each list. */
  readonly top: number;
  /** null: no lookup of origins is configured. */
  readonly originOf: OriginOf | null;
  /** Absent: names are not known. */
  readonly ingressOf?: IngressOf;
}

export function sourcesOf(
  packets: readonly SampledPacket[],
  { top, originOf, ingressOf = numberedIngress }: SourcesBounds,
): AttackSources {
  const counts = new Map<IpAddress, number>();
  for (const { header } of packets) counts.set(header.source, (counts.get(header.source) ?? 0) + 1);
  const prefixes = new Map<IpAddress, string>();
  const blocks = new Set<string>();
  let [seenOnce, ipv4Packets, specialPackets] = [0, 0, 0];
  for (const [source, count] of counts) {
    const family = addressFamily(source);
    prefixes.set(source, announcedPrefix(source));
    if (count === 1) seenOnce++;
    if (isSpecialPurpose(source)) specialPackets += count;
    if (family === 6) continue;
    ipv4Packets += count;
    blocks.add(source.slice(0, source.indexOf(".")));
  }
  const topSources = largestShares(packets, ({ source }) => source, top);
  return {
    totalPackets: packets.length,
    distinct: counts.size,
    seenOnce,
    ipv4Packets,
    ipv4Blocks: blocks.size,
    specialPackets,
    topSources,
    topPrefixes: largestShares(packets, ({ source }) => prefixes.get(source) ?? null, top),
    topInterfaces: interfacesOf(packets, ingressOf, top),
    origins: originsOf(packets, topSources, { originOf, top }),
  };
}
