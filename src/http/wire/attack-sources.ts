/** Where the newest sampled packets of an attack come from (docs/interface.md#attack-sources). */
import { type Static, Type } from "@sinclair/typebox";
import type { AttackSources } from "../../detection/attack/attack-sources.ts";
import type { PacketCounts } from "../../detection/attack/outcome-rings.ts";
import { Count, closedObject } from "../../schema/schema-forms.ts";
import { omitNulls } from "./omit-nulls.ts";
import {
  InterfaceShareWire,
  interfaceToWire,
  ShareWire,
  SourceWire,
  shareToWire,
  sourceToWire,
} from "./traffic/sample.ts";

export const AttackSourcesWire = closedObject({
  /** False: no packets of this attack are kept. */
  available: Type.Boolean(),
  id: Type.String(),
  total_packets: Count,
  distinct_sources: Count,
  /** Sources with one packet. */
  single_sources: Count,
  ipv4_packets: Count,
  /** Different /8 of IPv4 sources. */
  ipv4_blocks: Count,
  /** Packets from special-purpose addresses, which nothing on the Internet has. */
  special_packets: Count,
  top_sources: Type.Array(SourceWire),
  top_prefixes: Type.Array(ShareWire),
  /** Absent if nothing is known, like the next one. */
  top_asns: Type.Optional(Type.Array(ShareWire)),
  top_countries: Type.Optional(Type.Array(ShareWire)),
  /** Absent if nothing says where the packets came into the network, and for tenants. */
  top_interfaces: Type.Optional(Type.Array(InterfaceShareWire)),
  /** Packets of its capture file; `total` has those, too, that nothing on this machine judged. */
  /** Those of `top_sources` that would not be blocked for the victim now, and why. Absent: none. */
  not_blockable: Type.Optional(
    Type.Array(closedObject({ source: Type.String(), reason: Type.String() }), { minItems: 1 }),
  ),
  kept_packets: closedObject({ total: Count, passed: Count, dropped: Count, answered: Count }),
});
export type AttackSourcesWire = Static<typeof AttackSourcesWire>;

/** A tenant does not see the exporters of flow telemetry. @param tenant of the caller; null: none. */
export function sourcesOfTenant(sources: AttackSources, tenant: string | null): AttackSources {
  return tenant === null ? sources : { ...sources, topInterfaces: [] };
}

/** @param refusalOf why a source would not be blocked for the victim; null: it would */
export function attackSourcesToWire(
  id: string,
  sources: AttackSources,
  kept: PacketCounts,
  refusalOf: (source: string) => string | null = () => null,
): AttackSourcesWire {
  const notBlockable = sources.topSources.flatMap(({ key: source }) => {
    const reason = refusalOf(source);
    return reason === null ? [] : [{ source, reason }];
  });
  const { origins } = sources;
  return omitNulls({
    available: sources.totalPackets > 0,
    id,
    total_packets: sources.totalPackets,
    distinct_sources: sources.distinct,
    single_sources: sources.seenOnce,
    ipv4_packets: sources.ipv4Packets,
    ipv4_blocks: sources.ipv4Blocks,
    special_packets: sources.specialPackets,
    top_sources: sources.topSources.map((share) => sourceToWire(share, origins?.bySource[share.key])),
    top_prefixes: sources.topPrefixes.map(shareToWire),
    top_asns: origins?.topAsns.length ? origins.topAsns.map(shareToWire) : null,
    top_countries: origins?.topCountries.length ? origins.topCountries.map(shareToWire) : null,
    top_interfaces: sources.topInterfaces.length === 0 ? null : sources.topInterfaces.map(interfaceToWire),
    not_blockable: notBlockable.length === 0 ? null : notBlockable,
    kept_packets: kept,
  });
}
