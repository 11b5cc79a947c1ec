/** A veth between two network namespaces: floods start in one, and the measured system runs in the other, the box. */
import { type Namespace, Namespaces } from "../test/lab/namespaces.ts";
import { sendFrom } from "../test/lab/world.ts";

export const DEVICE = "mirror0";
/**
 * As the capture workers have it: a source that waits for its CPU sends less, and its figures are those of the other
 * processes.
 */
const REAL_TIME = ["chrt", "--rr", "1"];

export interface FloodOptions {
  /** Default: udp. */
  readonly profile?: "udp" | "syn";
  /** The first of `hosts` addresses. */
  readonly target: string;
  readonly hosts?: number;
  readonly sources: number;
  readonly seconds: number;
  /** Default: as fast as it goes. */
  readonly pps?: number;
  /** Bytes of a frame without its check sum; default: the smallest. */
  readonly bytes?: number;
  /** CPU of the sender; default: the first. */
  readonly cpu?: number;
  /** The measured program needs the sender's CPU too: no real-time priority for the sender. */
  readonly sharesCpu?: boolean;
  /** Default: live frames, which keep the sender's CPU busy at any rate; a socket sleeps between packets. */
  readonly path?: "socket" | "live";
}

export interface Flood {
  /** Frames that the veth accepted; it refuses frames while its queue is full. */
  readonly arrived: number;
  readonly seconds: number;
}

export class Wire {
  readonly box: Namespace;
  readonly #attacker: Namespace;
  readonly #namespaces = new Namespaces();

  /** @param queues RX queues of the box's device; the frames of CPU n arrive at queue n modulo this. */
  constructor(queues = 1) {
    this.#attacker = this.#namespaces.add("attacker");
    this.box = this.#namespaces.add("box");
    const near = { namespace: this.#attacker, device: "wire0" };
    this.#namespaces.connect(near, { namespace: this.box, device: DEVICE }, { queues });
  }

  /** By default frames of 64 bytes (with checksum) as fast as the first CPU can generate them. */
  async flood({ sharesCpu = false, ...options }: FloodOptions): Promise<Flood> {
    const traffic = { profile: "udp", pps: 0, path: "live", ...options } as const;
    const sent = await sendFrom(this.#attacker, traffic, sharesCpu ? [] : REAL_TIME);
    return { arrived: sent.packets - sent.device_drops, seconds: sent.duration_ns / 1e9 };
  }

  /** Frames that arrived at all queues since the wire was made. If senders run at once, each counts the frames of all. */
  arrived(): number {
    return this.counted("xdp_packets");
  }

  /** A counter of the box's device by the name that ethtool gives it, of all queues. */
  counted(name: string): number {
    const statistics = this.box.run(["ethtool", "-S", DEVICE]);
    const queues = [...statistics.matchAll(new RegExp(`^\\s*rx_queue_\\d+_${name}: (\\d+)$`, "gm"))];
    return queues.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** Frames that the network stack of the box has sent by its device. */
  sentBack(): number {
    return Number(this.box.run(["cat", `/sys/class/net/${DEVICE}/statistics/tx_packets`]));
  }

  /** At the sender's end, where what the box sends back arrives. */
  attachFar(program: string): void {
    this.#attacker.run(["ip", "link", "set", "dev", "wire0", "xdpdrv", "object", program, "section", "xdp"]);
  }

  attach(program: string): void {
    this.box.run(["ip", "link", "set", "dev", DEVICE, "xdpdrv", "object", program, "section", "xdp"]);
  }

  detach(): void {
    this.box.run(["ip", "link", "set", "dev", DEVICE, "xdpdrv", "off"]);
  }

  close(): void {
    this.#namespaces.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
