/** The section `capture`: where packets come from. */
import { Type } from "@sinclair/typebox";
import {
  CPU_NUMBER_MAX,
  EXTERNAL_SENDERS_MAX,
  HOSTS_MAX,
  QUEUE_NUMBER_MAX,
  SAMPLING_RATE_MAX,
} from "../../native/constants.ts";
import { closedObject, described, integer, list, oneOf, text } from "../../schema/schema-forms.ts";
import { CaptureTunnels, DECAPSULATE, FILE_DECAPSULATE, VXLAN_PORTS } from "./capture-tunnels.ts";

/** Interfaces captured at once. */
export const CAPTURE_INTERFACES_MAX = 64;

/** The maximum of `capture.link_mbps`: a hundred Tbit/s. */
const LINK_MBPS_MAX = 100_000_000;

export const MAX_HOSTS_DEFAULT = 1_048_576;

const Interface = closedObject({
  name: described(text("interfaceName"), "The network interface to capture from. Each interface may be listed once."),
  /** Required: mirror mode takes every frame off the interface, which must not be a default. */
  mode: described(
    oneOf("mirror", "inline"),
    "`mirror` is for the port of a SPAN session or a tap: with backend `af_xdp` every frame is taken off the interface. `inline` counts the frames and passes them on to the kernel.",
  ),
  backend: described(
    Type.Optional(oneOf("af_xdp", "pcap")),
    "How frames are read. `pcap` is slower, needs no XDP, and copies frames instead of taking them; it works in mirror mode only.",
    { valueIfAbsent: "af_xdp" },
  ),
  xdp_mode: described(
    Type.Optional(oneOf("auto", "native", "generic")),
    "Where the XDP program runs: `native` in the driver, `generic` in the kernel (any driver, slower), `auto` native where the driver can. Not allowed with backend `pcap`.",
    { valueIfAbsent: "auto" },
  ),
  queues: described(
    Type.Optional(
      Type.Union([
        Type.Literal("auto"),
        list(integer(0, QUEUE_NUMBER_MAX), QUEUE_NUMBER_MAX + 1, { atLeastOne: true }),
      ]),
    ),
    "The RX queues to read: `auto` reads all of them. Not allowed with backend `pcap` or in inline mode.",
    { valueIfAbsent: "auto" },
  ),
  zero_copy: described(
    Type.Optional(oneOf("auto", true, false)),
    "Whether frames are shared with the driver instead of copied; `auto` shares them where the driver can. Not allowed with backend `pcap` or in inline mode.",
    { valueIfAbsent: "auto" },
  ),
  cpus: described(
    list(integer(0, CPU_NUMBER_MAX), CPU_NUMBER_MAX + 1),
    "The CPUs that the workers are pinned to, one for each queue in turn. An empty list pins none.",
  ),
  decapsulate: DECAPSULATE,
  sampling_rate: described(
    Type.Optional(integer(1, SAMPLING_RATE_MAX)),
    "The sampling rate of a mirror that copies one frame in this number: each frame counts as this number. Not allowed in inline mode.",
    { valueIfAbsent: 1 },
  ),
  external: described(
    Type.Boolean({ default: false }),
    "Whether all its frames come from other networks: an interface on the Internet side of an inline box, or a mirror of frames that a port to a transit receives. Packets with one of your hosts as their source are then not counted as outgoing traffic of it.",
  ),
  external_macs: described(
    { ...list(text("macAddress"), EXTERNAL_SENDERS_MAX), uniqueItems: true },
    "The same for frames with one of these source MAC addresses: those of the routers of transits, peers and exchanges, on a mirror of both directions of a port. Not allowed in inline mode or with `external`.",
  ),
});

export const Capture = described(
  closedObject({
    interfaces: described(
      Type.Optional(list(Interface, CAPTURE_INTERFACES_MAX, { atLeastOne: true })),
      "The interfaces that packets come from. One of `interfaces`, `tunnels` and `pcap_file` is required; `pcap_file` excludes the others. With `telemetry` all may be absent.",
    ),
    tunnels: CaptureTunnels,
    pcap_file: described(Type.Optional(text("path")), "A capture file that is read instead of interfaces."),
    pace: described(
      Type.Optional(oneOf("real", "max")),
      "How fast `pcap_file` is read: `real` at the times of the capture, `max` as fast as possible. Not allowed without `pcap_file`.",
      { valueIfAbsent: "real" },
    ),
    decapsulate: FILE_DECAPSULATE,
    vxlan_ports: VXLAN_PORTS,
    max_hosts: described(
      integer(1, HOSTS_MAX, MAX_HOSTS_DEFAULT),
      "The number of hosts that are tracked at once, which bounds memory. Packets of further hosts are counted for their network only.",
    ),
    link_mbps: described(
      Type.Optional(integer(1, LINK_MBPS_MAX)),
      "The capacity of the links whose packets are seen, all together, in Mbit/s. The dashboard shows it beside the traffic; nothing else depends on it.",
    ),
  }),
  "Where packets come from. Without this section and `telemetry` the service sees no traffic: it carries out manual bans and serves nodes, and attacks that an earlier process left open are closed.",
  {
    examples: [
      { interfaces: [{ name: "eth1", mode: "mirror", cpus: [2, 3] }] },
      { interfaces: [{ name: "eth0", mode: "inline", xdp_mode: "native" }] },
      { tunnels: [{ address: "192.0.2.10", from: ["198.51.100.0/24"] }] },
      { pcap_file: "/var/tmp/attack.pcap", pace: "max" },
    ],
  },
);
