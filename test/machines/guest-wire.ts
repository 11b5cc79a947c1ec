/**
 * Three virtio-net devices of a guest on one wire: a bridge between taps, in a network namespace of its own on this
 * machine. Two have two queue pairs and the offloads of a usual host; of the third the guest cannot switch the offloads
 * off, which forbids native XDP.
 */
import { readdirSync, readFileSync } from "node:fs";
import { ethernet, FRAME_BYTES_MIN, ip, TCP_FLAGS, tcp } from "../fixtures/packets/frames.ts";
import { type Namespace, Namespaces } from "../lab/namespaces.ts";

/** By which the guest finds them. */
export const GUEST_MACS = { near: "02:00:00:00:99:01", far: "02:00:00:00:99:02", fixed: "02:00:00:00:99:03" } as const;

/** Inside the guest. Throws when no network device has the address. */
export function deviceOf(mac: string): string {
  const name = readdirSync("/sys/class/net").find(
    (entry) => readFileSync(`/sys/class/net/${entry}/address`, "utf8").trim() === mac,
  );
  if (name === undefined) throw new Error(`no network device has the address ${mac}: run this with \`make kernels\``);
  return name;
}

/** A SYN to the far end, as a router sends it, or to another station, as a mirror port gets it. */
export function frameToFar(src: string, { toStation = true, payload = 0, sourcePort = 40_000 } = {}): Uint8Array {
  const segment = tcp({ flags: TCP_FLAGS.syn, sourcePort, payload: new Uint8Array(payload) });
  const destination = GUEST_MACS.far.split(":").map((byte) => Number.parseInt(byte, 16));
  const fields = { padTo: FRAME_BYTES_MIN, ...(toStation ? { destination } : {}) };
  return ethernet(ip({ src, dst: "203.0.113.7" }, segment), fields);
}

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
