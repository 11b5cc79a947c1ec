/** How packets that passed the filter went on: by outcome, on the machine of the service or on a scrub node. */
import type { Registry } from "prom-client";
import { MetricGroup } from "./metric-group.ts";

export interface ForwardReading {
  /** Labels are of a closed set. */
  readonly outcomes: Readonly<Record<string, { readonly packets: number; readonly bytes: number }>>;
  readonly clamped: number;
  readonly egress: readonly string[];
  readonly keepsRoutes: boolean;
}

export class ForwardMetrics extends MetricGroup {
  readonly #packets;
  readonly #bytes;
  readonly #clamped;
  readonly #egress;
  readonly #keepsRoutes;

  /** @param prefix of the names: of the service, or of a scrub node. */
  constructor(registry: Registry, prefix: "svc_dataplane" | "svc_scrub_agent") {
    super(registry);
    this.#packets = this.counter(
      `${prefix}_forward_packets_total`,
      "Packets that passed, where they are forwarded by XDP, by what became of them.",
      "outcome",
    );
    this.#bytes = this.counter(
      `${prefix}_forward_bytes_total`,
      "Bytes of the frames that passed, by what became of them.",
      "outcome",
    );
    this.#clamped = this.counter(
      `${prefix}_forward_mss_clamped_total`,
      "Segments whose MSS was lowered to what fits into their tunnel.",
    );
    this.#egress = this.gauge(
      `${prefix}_forward_egress`,
      "1 for an interface that packets can be redirected to.",
      "interface",
    );
    this.#keepsRoutes = this.gauge(
      `${prefix}_forward_keeps_routes`,
      "1 while packets to one destination share a look-up of its route; 0: each is looked up, at two to three times the cost.",
    );
  }

  /** null: the kernel forwards. */
  set(reading: ForwardReading | null): void {
    for (const metric of [this.#packets, this.#bytes, this.#clamped, this.#egress]) metric.reset();
    // Where the kernel forwards, neither holds.
    this.#keepsRoutes.remove();
    if (reading === null) return;
    for (const [outcome, { packets, bytes }] of Object.entries(reading.outcomes)) {
      this.#packets.inc({ outcome }, packets);
      this.#bytes.inc({ outcome }, bytes);
    }
    this.#clamped.inc(reading.clamped);
    this.#keepsRoutes.set(reading.keepsRoutes ? 1 : 0);
    for (const name of reading.egress) this.#egress.set({ interface: name }, 1);
  }
}
