/** The flow sample of an attack (docs/interface.md#sample). */
import { type Static, Type } from "@sinclair/typebox";
import type { Sample, SampledFlow, Share } from "../../../detection/attack/sample.ts";
import type { InterfaceShare } from "../../../detection/attack/sample-ingress.ts";
import type { Origin } from "../../../detection/attack/sample-origins.ts";
import { closedObject } from "../../../schema/schema-forms.ts";
import { round } from "../../../traffic/rates.ts";
import { omitNulls } from "../omit-nulls.ts";

export const ShareWire = closedObject({ key: Type.String(), packets: Type.Integer(), bytes: Type.Integer() });

export const SourceWire = closedObject({
  key: Type.String(),
  packets: Type.Integer(),
  bytes: Type.Integer(),
  /** Origin of the source, if samples.asn_file and samples.country_file have it. */
  asn: Type.Optional(Type.Integer()),
  as_name: Type.Optional(Type.String()),
  country: Type.Optional(Type.String()),
});

/** An interface of an exporter of flow telemetry. */
export const InterfaceShareWire = closedObject({
  exporter: Type.String(),
  /** Its number (ifIndex); 0: not known. */
  interface: Type.Integer(),
  /** Absent if the exporter did not say. */
  name: Type.Optional(Type.String()),
  packets: Type.Integer(),
  bytes: Type.Integer(),
  /** Share of the packets on the wire that the sampled ones stand for. */
  share: Type.Number({ minimum: 0, maximum: 1 }),
});

/** Ports and flags are absent if a packet has none, or if its headers do not show them. */
const FlowWire = closedObject({
  src: Type.String(),
  dst: Type.String(),
  proto: Type.String(),
  src_port: Type.Optional(Type.Integer()),
  dst_port: Type.Optional(Type.Integer()),
  /** As in rules: the sum of the flags' bits, with FIN = 1. */
  tcp_flags: Type.Optional(Type.Integer()),
  bytes: Type.Integer(),
});

export const SampleWire = closedObject({
  top_sources: Type.Array(SourceWire),
  top_src_ports: Type.Array(ShareWire),
  top_dst_ports: Type.Array(ShareWire),
  protocols: Type.Array(ShareWire),
  /** Over all sampled packets; keys are `AS64500 Name` and `DE`. Absent if nothing is known. */
  top_asns: Type.Optional(Type.Array(ShareWire)),
  top_countries: Type.Optional(Type.Array(ShareWire)),
  /** Prefixes of the sources; absent in records of builds before. */
  top_prefixes: Type.Optional(Type.Array(ShareWire)),
  /** Absent if nothing says where the packets came into the network, and for tenants. */
  top_interfaces: Type.Optional(Type.Array(InterfaceShareWire)),
  flows: Type.Optional(Type.Array(FlowWire)),
  total_packets: Type.Integer(),
});
export type SampleWire = Static<typeof SampleWire>;

export function sampleToWire(sample: Sample): SampleWire {
  const { origins } = sample;
  return omitNulls({
    top_sources: sample.topSources.map((share) => sourceToWire(share, origins?.bySource[share.key])),
    top_src_ports: sample.topSourcePorts.map(shareToWire),
    top_dst_ports: sample.topDestinationPorts.map(shareToWire),
    protocols: sample.protocols.map(shareToWire),
    top_asns: origins?.topAsns.length ? origins.topAsns.map(shareToWire) : null,
    top_countries: origins?.topCountries.length ? origins.topCountries.map(shareToWire) : null,
    top_prefixes: sample.topPrefixes?.map(shareToWire) ?? null,
    top_interfaces: sample.topInterfaces?.map(interfaceToWire) ?? null,
    flows: sample.flows.length === 0 ? null : sample.flows.map(flowToWire),
    total_packets: sample.totalPackets,
  });
}

export function shareToWire({ key, packets, bytes }: Share): Static<typeof ShareWire> {
  return { key, packets, bytes };
}

export function interfaceToWire(share: InterfaceShare): Static<typeof InterfaceShareWire> {
  return omitNulls({ ...share, share: round(share.share) });
}

export function sourceToWire(share: Share, origin: Origin | undefined): Static<typeof SourceWire> {
  const { asn = null, asName = null, country = null } = origin ?? {};
  return omitNulls({ ...shareToWire(share), asn, as_name: asName, country });
}

function flowToWire(flow: SampledFlow): Static<typeof FlowWire> {
  return omitNulls({
    src: flow.source,
    dst: flow.destination,
    proto: flow.protocol,
    src_port: flow.sourcePort,
    dst_port: flow.destinationPort,
    tcp_flags: flow.tcpFlags,
    bytes: flow.bytes,
  });
}
