/**
 * Where the sources of a sample are: their autonomous systems and countries, as far as somebody can tell. Pure; who can
 * tell is the matter of whoever hands in the lookup.
 */
import type { IpAddress } from "../../net/address.ts";
import { largestShares, type SampledPacket, type Share } from "./sample-shares.ts";

/** null: not known. */
export interface Origin {
  readonly asn: number | null;
  readonly asName: string | null;
  /** Two letters, as ISO 3166-1 has them. */
  readonly country: string | null;
}

/** Never throws; null where nothing is known. */
export type OriginOf = (address: IpAddress) => Origin | null;

export interface SampleOrigins {
  /** Of the largest sources, those that something is known of. */
  readonly bySource: Readonly<Record<string, Origin>>;
  /** Of all sampled packets, most packets first; keys are `AS64500 Name` and `DE`. */
  readonly topAsns: readonly Share[];
  readonly topCountries: readonly Share[];
}

/** One lookup for each source among the packets. */
export function originsOf(
  packets: readonly SampledPacket[],
  largestSources: readonly Share[],
  { originOf, top }: { readonly originOf: OriginOf; readonly top: number },
): SampleOrigins {
  const known = new Map<IpAddress, Origin | null>();
  for (const { header } of packets) {
    if (!known.has(header.source)) known.set(header.source, originOf(header.source));
  }
  const bySource: Record<string, Origin> = {};
  for (const { key } of largestSources) {
    const origin = known.get(key as IpAddress);
    if (origin) bySource[key] = origin;
  }
  const shares = (keyOf: (origin: Origin) => string | null) =>
    largestShares(
      packets,
      ({ source }) => {
        const origin = known.get(source);
        return origin ? keyOf(origin) : null;
      },
      top,
    );
  return { bySource, topAsns: shares(systemKey), topCountries: shares(({ country }) => country) };
}

function systemKey({ asn, asName }: Origin): string | null {
  if (asn === null) return null;
  return asName === null ? `AS${asn}` : `AS${asn} ${asName}`;
}
