/** The keys of `dataplane` for the way back: how packets that pass go on, and in which tunnels (docs/operations/way-back.md). */
import { type Static, Type } from "@sinclair/typebox";
import type { Forward, Tunnel } from "../../dataplane/dataplane-config.ts";

import { FORWARD_TUNNELS_MAX, TUNNEL_KINDS, VXLAN_PORT } from "../../native/constants.ts";
import { addressFamily, type IpAddress, parseAddress } from "../../net/address.ts";
import { type Prefix, parsePrefix } from "../../net/prefix.ts";
import { closedObject, described, integer, list, oneOf, text } from "../../schema/schema-forms.ts";

/**
 * Networks of a tunnel, and bytes of the longest packet within: what a link of Ethernet takes at most, and any link of
 * IPv4 at least.
 */
const TUNNEL_NETWORKS_MAX = 1024;
const TUNNEL_MTU_MAX = 9216;
const TUNNEL_MTU_MIN = 576;

const ForwardKey = oneOf("kernel", "redirect");
const KEY_MAX = 0xffffffff;
const VNI_MAX = 0xffffff;
const LINK_MTU = 1500;
/** Bytes of headers (RFC 791, 8200, 2784, 2890, 7348), and of IP and TCP together. */
const BYTES = { ip: { 4: 20, 6: 40 }, gre: 4, greKey: 4, vxlan: 8 + 8 + 14, tcp: 20 } as const;

const TunnelFile = closedObject({
  networks: described(
    list(text("prefix"), TUNNEL_NETWORKS_MAX, { atLeastOne: true }),
    "Destinations whose packets go into the tunnel. The longest prefix among all tunnels and the networks of the machine decides.",
  ),
  type: described(
    oneOf(...TUNNEL_KINDS),
    "`gre`; `ipip`, which is IP in IP of any two families; or `vxlan`, with an Ethernet header inside.",
  ),
  local: described(
    text("address"),
    "The source address of the outer packets, of this machine. It need not be that of an interface.",
  ),
  remote: described(text("address"), "The address of the far end, of the same family as `local`."),
  mtu: described(
    Type.Optional(integer(TUNNEL_MTU_MIN, TUNNEL_MTU_MAX)),
    "The length of the longest packet inside, bytes, without outer headers. A longer packet is answered with an ICMP error, or dropped if it may be fragmented.",
    { ifAbsent: "1500 less the outer headers: 1476 for `gre` over IPv4, 1480 for `ipip`, 1450 for `vxlan`" },
  ),
  mss: described(
    Type.Optional(integer(64, TUNNEL_MTU_MAX)),
    "The largest segment that a TCP SYN or SYN-ACK to or from these networks may offer; a larger one is lowered to it.",
    { ifAbsent: "`mtu` less the headers of IP and TCP: by 40 for IPv4, by 60 for IPv6" },
  ),
  key: described(Type.Optional(integer(0, KEY_MAX)), "With `gre` alone: the key of the tunnel.", {
    ifAbsent: "none",
  }),
  vni: described(Type.Optional(integer(0, VNI_MAX)), "With `vxlan`, which needs it: the number of the network."),
  port: described(Type.Optional(integer(1, 65_535)), "With `vxlan` alone: the UDP port of the far end.", {
    ifAbsent: String(VXLAN_PORT),
  }),
  mac: described(
    Type.Optional(text("macAddress")),
    "With `vxlan`, which needs it: the MAC address of the far end's VXLAN interface.",
  ),
});
type TunnelFile = Static<typeof TunnelFile>;

export const FORWARD_KEYS = {
  forward: described(
    Type.Unsafe<Forward>({ ...ForwardKey, default: "kernel" }),
    "How packets that pass go on to their destinations. `kernel` leaves them to the routing of this machine. `redirect` sends those to `networks` (of a scrub node `bounds.networks`, or all) by XDP, after a look-up in the kernel's routes and neighbors: faster, and past conntrack, nftables and rp_filter.",
  ),
  tunnels: described(
    list(TunnelFile, FORWARD_TUNNELS_MAX),
    "Tunnels in which packets go on, with `forward: redirect`. They need no interface of the kernel's.",
  ),
};

export function buildTunnel(file: TunnelFile): Tunnel {
  // The schema and the rules accept only valid texts.
  const [local, remote] = [parseAddress(file.local) as IpAddress, parseAddress(file.remote) as IpAddress];
  const mtu = file.mtu ?? LINK_MTU - headersOf(file);
  return {
    kind: file.type,
    networks: file.networks.map((network) => parsePrefix(network) as Prefix),
    ...{ local, remote, mtu },
    key: file.key ?? file.vni ?? null,
    port: file.port ?? VXLAN_PORT,
    mac: file.mac ?? null,
    mss: { 4: file.mss ?? mtu - BYTES.ip[4] - BYTES.tcp, 6: file.mss ?? mtu - BYTES.ip[6] - BYTES.tcp },
  };
}

function headersOf({ type, local, key }: TunnelFile): number {
  const ip = BYTES.ip[addressFamily(parseAddress(local) as IpAddress)];
  if (type === "gre") return ip + BYTES.gre + (key === undefined ? 0 : BYTES.greKey);
  return type === "vxlan" ? ip + BYTES.vxlan : ip;
}

/** An example for the sections that have these keys. */
export const FORWARD_EXAMPLE = {
  interfaces: ["eth0", "eth1"],
  forward: "redirect",
  tunnels: [
    { networks: ["192.0.2.0/25"], type: "gre", local: "198.51.100.1", remote: "198.51.100.9", key: 7 },
    {
      networks: ["192.0.2.128/25", "2001:db8:1::/48"],
      type: "vxlan",
      local: "198.51.100.1",
      remote: "198.51.100.9",
      vni: 4711,
      mac: "02:00:5e:10:00:01",
      mtu: 1450,
    },
  ],
};
