/** The section `telemetry`: where sFlow, NetFlow and IPFIX are received, from whom, and which of their records count. */
import { type Static, Type } from "@sinclair/typebox";

import {
  CPU_NUMBER_MAX,
  ENCAPSULATIONS,
  EXPORTER_RULES_MAX,
  FLOW_DIRECTIONS,
  FLOW_THREADS_MAX,
  INTERFACE_PATTERNS_MAX,
  RECEIVE_BUFFER_MAX,
} from "../../native/constants.ts";
import { type IpAddress, parseAddress } from "../../net/address.ts";
import type { Prefix } from "../../net/prefix.ts";
import { closedObject, described, integer, list, oneOf, text } from "../../schema/schema-forms.ts";
import { parseAddressOrPrefix } from "../../schema/text-forms.ts";
import type {
  ExporterConfig,
  ExporterDirection,
  FlowListen,
  TelemetryConfig,
} from "../../telemetry/telemetry-config.ts";

/** Sockets that take flow records, and the longest silence of an exporter that is not reported, seconds. */
const FLOW_LISTENERS_MAX = 16;
const SILENT_SECONDS_MAX = 86_400;
/** One sampled packet in this number: the largest of sFlow (version 5, 24 bits). */
const EXPORTER_SAMPLING_RATE_MAX = 16_777_215;

const MIB = 1024 * 1024;

const Listen = closedObject({
  address: described(
    text("address", { default: "::" }),
    "The address of this machine that records are sent to; `::` is all of IPv6 and IPv4, `0.0.0.0` all of IPv4.",
    { ifAbsent: "all addresses, `::`" },
  ),
  port: described(
    integer(1, 65_535),
    "The UDP port. Each port takes all of sFlow v5, NetFlow v5, v9 and IPFIX; usual are 6343 for sFlow, 2055 for NetFlow and 4739 for IPFIX.",
  ),
  threads: described(
    integer(1, FLOW_THREADS_MAX, 1),
    "The threads that receive and decode. An exporter stays with one thread; one takes some millions of records a second.",
  ),
  receive_buffer_mb: described(
    integer(1, RECEIVE_BUFFER_MAX / MIB, 64),
    "The receive buffer of each thread's socket, MiB. It must have room for the datagrams that all exporters send at one moment; others are lost and counted.",
  ),
  cpus: described(
    list(integer(0, CPU_NUMBER_MAX), CPU_NUMBER_MAX + 1),
    "The CPUs that the threads are pinned to, one for each in turn. An empty list pins none.",
  ),
});

const Patterns = (meaning: string) =>
  described(
    Type.Optional(
      list(Type.Union([integer(0, 0xffff_ffff), text("interfacePattern")]), INTERFACE_PATTERNS_MAX, {
        atLeastOne: true,
      }),
    ),
    meaning,
  );

const Interfaces = closedObject({
  external: Patterns(
    "The interfaces to other networks (transit, peers, exchanges). With it a packet counts for the host that it goes to only if it came in by one of these, and for the host that it comes from only if it went out by one.",
  ),
  internal: Patterns(
    "The interfaces to your own network. Without `external` all others are external; `external` has precedence.",
  ),
});

/** IEEE P802.3dj. */
const FASTEST_INTERFACE_MBPS = 1_600_000;

const Exporter = closedObject({
  address: described(
    text("addressOrPrefix"),
    "The source address of its datagrams, or a prefix for all exporters within. The longest matching prefix decides. Datagrams of others are dropped and counted.",
  ),
  name: described(text("exporterName"), "The name by which it is shown and in the metrics, unique."),
  sampling_rate: described(
    Type.Optional(integer(1, EXPORTER_SAMPLING_RATE_MAX)),
    "The sampling rate (one packet in this number), in place of the one that the exporter reports. Only for exporters that report none, or a wrong one.",
    { ifAbsent: "what the exporter says" },
  ),
  fastest_interface_mbps: described(
    Type.Optional(integer(1, FASTEST_INTERFACE_MBPS)),
    "The speed of the fastest interface, or bundle of interfaces, that its records are of. Records of more bytes than twice that in their time do not count.",
    { ifAbsent: "the fastest that there is, 1600000" },
  ),
  direction: described(
    Type.Unsafe<ExporterDirection>({ ...oneOf(...FLOW_DIRECTIONS), default: "ingress" }),
    "Which records count: those of packets as they came into the exporter (`ingress`), as they left it (`egress`), or `both`. Records that do not say their direction always count.",
  ),
  interfaces: described(
    Type.Optional(Interfaces),
    "The interfaces to other networks and to your own, each a number (`17`), a range (`10-19`) or a name with `*` (`et-0/0/*`).",
    { ifAbsent: "all interfaces count" },
  ),
  site: described(
    Type.Optional(text("siteName")),
    "Exporters of one site see the same packets: the first of them in this list counts; if it reports no traffic for its `silent_after_seconds`, the next one counts.",
  ),
  decapsulate: described(
    list(oneOf(...ENCAPSULATIONS), ENCAPSULATIONS.length),
    "Headers that are removed from the sampled packets of this exporter, so that the packet inside counts. The values are those of `capture.interfaces[].decapsulate`.",
  ),
  silent_after_seconds: described(
    integer(5, SILENT_SECONDS_MAX, 60),
    "After this time without a datagram the exporter is reported as silent.",
  ),
});

export const TelemetrySection = described(
  closedObject({
    listen: described(
      list(Listen, FLOW_LISTENERS_MAX, { atLeastOne: true }),
      "Where flow records and samples are received. A reload leaves it as it is.",
    ),
    exporters: described(
      list(Exporter, EXPORTER_RULES_MAX, { atLeastOne: true }),
      "The routers and switches that may send. UDP source addresses can be forged: let only your routers reach these ports.",
    ),
  }),
  "Flow telemetry: sFlow v5, NetFlow v5, v9 and IPFIX from routers, in place of packets or beside them; see [flow telemetry](operations/flow-telemetry.md). `floodwall telemetry` listens for a minute and prints the lines for the exporters that send.",
  {
    examples: [
      {
        listen: [{ port: 6343 }, { address: "198.51.100.9", port: 2055, threads: 2 }],
        exporters: [
          { address: "192.0.2.1", name: "edge1", interfaces: { external: ["et-0/0/*", 17] } },
          { address: "198.51.100.0/28", name: "access", sampling_rate: 1000, decapsulate: ["vxlan"] },
        ],
      },
      {
        listen: [{ port: 4739, threads: 2, receive_buffer_mb: 128 }],
        exporters: [
          { address: "2001:db8::1", name: "edge2", site: "fra1" },
          { address: "2001:db8::2", name: "edge3", site: "fra1" },
        ],
      },
    ],
  },
);
export type TelemetryFile = Static<typeof TelemetrySection>;
type ExporterFile = TelemetryFile["exporters"][number];

export function buildTelemetry({ listen, exporters }: TelemetryFile): TelemetryConfig {
  return { listen: listen.map(buildListen), exporters: exporters.map(buildExporter) };
}

function buildListen(file: TelemetryFile["listen"][number]): FlowListen {
  return {
    address: parseAddress(file.address) as IpAddress,
    port: file.port,
    threads: file.threads,
    receiveBufferBytes: file.receive_buffer_mb * MIB,
    cpus: file.cpus,
  };
}

function buildExporter(file: ExporterFile): ExporterConfig {
  return {
    name: file.name,
    prefix: parseAddressOrPrefix(file.address) as Prefix,
    samplingRate: file.sampling_rate ?? null,
    fastestInterfaceMbps: file.fastest_interface_mbps ?? null,
    direction: file.direction,
    external: file.interfaces?.external?.map(String) ?? null,
    internal: file.interfaces?.internal?.map(String) ?? null,
    site: file.site ?? null,
    decapsulate: file.decapsulate,
    silentAfterSeconds: file.silent_after_seconds,
  };
}
