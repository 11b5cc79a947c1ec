/**
 * The origins of a sample's sources: autonomous systems and countries, if known. Pure; the caller supplies the lookup.
 */
import type { IpAddress } from "../../net/address.ts";
import { largestShares, type SampledPacket, type Share } from "./sample-shares.ts";

/** null: not known. */
export interface Origin {
  readonly asn: number | null;
  readonly asName: string | null;
  /** Two letters (ISO 3166-1). */
  readonly country: string | null;
}

/** Never throws; null: nothing is known. */
export type OriginOf = (address: IpAddress) => Origin | null;

export interface SampleOrigins {
  /** The known origins of the largest sources. */
  readonly bySource: Readonly<Record<string, Origin>>;
  /** From all sampled packets, most packets first; keys are `AS64500 Name` and `DE`. */
  readonly topAsns: readonly Share[];
  readonly topCountries: readonly Share[];
}

/** The lookup's autonomous system, or else the one that the exporter reported. */
export function originWith(origin: Origin | null, sourceAs: number | undefined): Origin | null {
  if (sourceAs === undefined || (origin !== null && origin.asn !== null)) return origin;
  return { asn: sourceAs, asName: null, country: origin?.country ?? null };
}

/** Makes one lookup for each source. null: no lookup is configured, and no exporter reported an autonomous system. */
export function originsOf(
  packets: readonly SampledPacket[],
  largestSources: readonly Share[],
  { originOf, top }: { readonly originOf: OriginOf | null; readonly top: number },
): SampleOrigins | null {
  if (originOf === null && packets.every(({ sourceAs }) => sourceAs === undefined)) return null;
  const known = new Map<IpAddress, Origin | null>();
  for (const { header, sourceAs } of packets) {
    const { source } = header;
    const before = known.has(source) ? (known.get(source) ?? null) : (originOf?.(source) ?? null);
    known.set(source, originWith(before, sourceAs));
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

/** `AS64500 Name`; null: not known. */
export function systemKey({ asn, asName }: Origin): string | null {
  if (asn === null) return null;
  return asName === null ? `AS${asn}` : `AS${asn} ${asName}`;
}
