/** A veth between two network namespaces: floods start in one, and the measured system runs in the other, the box. */
import { type Namespace, Namespaces } from "../test/lab/namespaces.ts";
import { sendFrom } from "../test/lab/world.ts";

export const DEVICE = "mirror0";

export interface FloodOptions {
  /** The first of `hosts` addresses. */
  readonly target: string;
  readonly hosts?: number;
  readonly sources: number;
  readonly seconds: number;
  /** Default: as fast as it goes. */
  readonly pps?: number;
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

  constructor() {
    this.#attacker = this.#namespaces.add("attacker");
    this.box = this.#namespaces.add("box");
    this.#namespaces.connect({ namespace: this.#attacker, device: "wire0" }, { namespace: this.box, device: DEVICE });
  }

  /** Frames of 64 bytes (with checksum) as fast as the first CPU can generate them. */
  async flood(options: FloodOptions): Promise<Flood> {
    const sent = await sendFrom(this.#attacker, { profile: "udp", pps: 0, path: "live", ...options });
    return { arrived: sent.packets - sent.device_drops, seconds: sent.duration_ns / 1e9 };
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
}
