/**
 * Three virtio-net devices of a guest on one wire: a bridge between taps, in a network namespace of its own on this
 * machine. Two have two queue pairs and the offloads of a usual host; of the third the guest cannot switch the offloads
 * off, which forbids native XDP.
 */
import { type Namespace, Namespaces } from "../lab/namespaces.ts";

/** By which the guest finds them. */
export const GUEST_MACS = { near: "02:00:00:00:99:01", far: "02:00:00:00:99:02", fixed: "02:00:00:00:99:03" } as const;

const PORTS = [
  { tap: "near", mac: GUEST_MACS.near, queues: 2, properties: "" },
  { tap: "far", mac: GUEST_MACS.far, queues: 2, properties: "" },
  { tap: "fixed", mac: GUEST_MACS.fixed, queues: 1, properties: ",ctrl_guest_offloads=off" },
] as const;

export class GuestWire {
  readonly #namespaces = new Namespaces();
  readonly namespace: Namespace;

  constructor() {
    this.namespace = this.#namespaces.add("wire");
    const lines = ["ip link add wire type bridge", "ip link set wire up"];
    for (const { tap, queues } of PORTS) {
      const multiQueue = queues > 1 ? " multi_queue" : "";
      lines.push(`ip tuntap add dev ${tap} mode tap vnet_hdr${multiQueue}`);
      lines.push(`ip link set ${tap} mtu 9000 master wire up`);
    }
    this.namespace.run(["sh", "-ec", lines.join("\n")]);
  }

  /** Arguments of QEMU. */
  get devices(): readonly string[] {
    return PORTS.flatMap(({ tap, mac, queues, properties }) => {
      const many = queues > 1 ? [`,queues=${queues}`, `,mq=on,vectors=${2 * queues + 2}`] : ["", ""];
      return [
        ...["-netdev", `tap,id=${tap},ifname=${tap},script=no,downscript=no,vhost=off${many[0]}`],
        ...["-device", `virtio-net-pci,netdev=${tap},mac=${mac}${many[1]}${properties}`],
      ];
    });
  }

  close(): void {
    this.#namespaces.close();
  }
}
