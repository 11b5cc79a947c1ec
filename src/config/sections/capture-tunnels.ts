/** Keys of `capture` about packets inside of others: what they are taken out of, and mirrored frames in tunnels to us. */
import { ENCAPSULATIONS, SAMPLING_RATE_MAX, VXLAN_PORT, VXLAN_PORTS_MAX } from "../../native/constants.ts";
import { closedObject, described, integer, list, oneOf, text } from "../../schema/schema-forms.ts";
import type { Encapsulation } from "../../traffic/encapsulation.ts";

/** Addresses that mirrored frames come to in tunnels, and prefixes that they may come from. */
const CAPTURE_TUNNELS_MAX = 16;
const TUNNEL_SENDERS_MAX = 256;

const MIRRORS: readonly Encapsulation[] = ["gre", "erspan"];

const kinds = { ...list(oneOf(...ENCAPSULATIONS), ENCAPSULATIONS.length), uniqueItems: true };

const WHAT =
  "`mpls` (label stacks), `pppoe` (sessions), `gre` (IP, Ethernet or MPLS in GRE), `erspan` (mirrored frames, types I to III), `ipip` (IPv4 in IP), `6in4` (IPv6 in IP), `vxlan`, `geneve` and `gtp_u` (UDP ports 4789, 6081 and 2152; for other ports of VXLAN see `capture.vxlan_ports`)";

export const DECAPSULATE = described(
  kinds,
  `The headers that are removed, so that the packet inside is counted: ${WHAT}. VLAN tags and the tags of mirrors and taps, up to eight, are always read. A packet inside counts if it goes to \`networks\`; otherwise the packet around it counts. Any host that can send to the end of a tunnel chooses the address that its packets count to, so name only what this link carries.`,
);

export const FILE_DECAPSULATE = described(kinds, "The same as `capture.interfaces[].decapsulate`, for `pcap_file`.");

export const VXLAN_PORTS = described(
  { ...list(integer(1, 65_535), VXLAN_PORTS_MAX, { atLeastOne: true }), uniqueItems: true, default: [VXLAN_PORT] },
  "The UDP ports whose packets are VXLAN, wherever `decapsulate` names `vxlan`: of interfaces, tunnels and `pcap_file`. They take the place of 4789, so name that too if it is in use. The ports of GENEVE and GTP-U, 6081 and 2152, are not allowed.",
);

export const CaptureTunnels = described(
  list(
    closedObject({
      address: described(text("address"), "An address of this machine, to which the mirrored frames are sent."),
      from: described(
        list(text("prefix"), TUNNEL_SENDERS_MAX, { atLeastOne: true }),
        "The senders of the frames. Packets of other senders are counted as refused, and not read.",
      ),
      decapsulate: described(
        { ...kinds, default: [...MIRRORS] },
        "The headers that are removed, at least `gre` or `erspan`; see `capture.interfaces[].decapsulate`.",
      ),
      sampling_rate: described(
        integer(1, SAMPLING_RATE_MAX, 1),
        "The sampling rate of a mirror that copies one frame in this number: each frame counts as this number.",
      ),
      receive_buffer_mb: described(
        integer(1, 512, 64),
        "The receive buffer of the socket, MiB. Frames that do not fit are lost, and counted as dropped.",
      ),
      cpus: described(
        list(integer(0, 1023), 1),
        "The CPU that the worker is pinned to. An empty list pins it to none.",
      ),
    }),
    CAPTURE_TUNNELS_MAX,
  ),
  "Mirrored frames that a switch or router sends in GRE or ERSPAN to an address of this machine. A tunnel takes up to about a million packets a second; beyond that, mirror to an interface of its own and set its `decapsulate`.",
);
