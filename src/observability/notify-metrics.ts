/** Notifications by channel: delivered, failed, dropped and waiting. */
import { Counter, Gauge, type Registry } from "prom-client";

export class NotifyMetrics {
  readonly #sent: Counter<"channel">;
  readonly #failed: Counter<"channel">;
  readonly #dropped: Counter<"channel">;
  readonly #queueLength: Gauge<"channel">;

  constructor(registry: Registry) {
    const labelNames = ["channel"] as const;
    const registers = [registry];
    const counter = (name: string, help: string) => new Counter({ name, help, labelNames, registers });
    this.#sent = counter("svc_notify_sent_total", "Events delivered.");
    this.#failed = counter("svc_notify_failed_total", "Deliveries that failed, each attempt counted.");
    this.#dropped = counter(
      "svc_notify_dropped_total",
      "Events given up: the queue was full, there were too many attempts, or the event was too old.",
    );
    this.#queueLength = new Gauge({
      name: "svc_notify_queue_length",
      help: "Events that wait to be delivered.",
      labelNames,
      registers,
    });
  }

  /** A configured channel has zeros before its first event; a removed channel has no queue length. */
  setChannels(lengths: ReadonlyMap<string, number>): void {
    this.#queueLength.reset();
    for (const [channel, length] of lengths) {
      this.#queueLength.set({ channel }, length);
      for (const counter of [this.#sent, this.#failed, this.#dropped]) counter.inc({ channel }, 0);
    }
  }

  sent(channel: string, events: number): void {
    this.#sent.inc({ channel }, events);
  }

  failed(channel: string): void {
    this.#failed.inc({ channel });
  }

  dropped(channel: string, events: number): void {
    this.#dropped.inc({ channel }, events);
  }

  setQueueLength(channel: string, events: number): void {
    this.#queueLength.set({ channel }, events);
  }
}
