/** Notifications by channel: delivered, failed, dropped and waiting. */
import { MetricGroup } from "./metric-group.ts";

export class NotifyMetrics extends MetricGroup {
  readonly #sent = this.counter("svc_notify_sent_total", "Events delivered.", "channel");
  readonly #failed = this.counter(
    "svc_notify_failed_total",
    "Deliveries that failed, each attempt counted.",
    "channel",
  );
  readonly #dropped = this.counter(
    "svc_notify_dropped_total",
    "Events given up: the queue was full, there were too many attempts, or the event was too old.",
    "channel",
  );
  readonly #queueLength = this.gauge("svc_notify_queue_length", "Events that wait to be delivered.", "channel");

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
