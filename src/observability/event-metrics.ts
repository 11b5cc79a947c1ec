/** Streams of server-sent events, and the events sent on them. */
import { Counter, Gauge, type Registry } from "prom-client";

const ENDS = ["left", "slow", "refused", "stopped"] as const;
const EVENTS = ["attack", "ban", "reload", "reset"] as const;

export class EventMetrics {
  readonly #streams: Gauge;
  readonly #ended: Counter<"reason">;
  readonly #refused: Counter;
  readonly #events: Counter<"event">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#streams = new Gauge({ name: "svc_api_event_streams", help: "Open event streams.", registers });
    this.#ended = new Counter({
      name: "svc_api_event_streams_ended_total",
      help: "Event streams that ended; `slow` means that the reader did not keep up and was disconnected.",
      labelNames: ["reason"],
      registers,
    });
    this.#refused = new Counter({
      name: "svc_api_event_streams_refused_total",
      help: "Event streams that were refused because too many are open.",
      registers,
    });
    this.#events = new Counter({
      name: "svc_api_events_total",
      help: "Events that were sent, each counted once for any number of readers.",
      labelNames: ["event"],
      registers,
    });
    for (const reason of ENDS) this.#ended.inc({ reason }, 0);
    for (const event of EVENTS) this.#events.inc({ event }, 0);
  }

  opened(): void {
    this.#streams.inc();
  }

  ended(reason: (typeof ENDS)[number]): void {
    this.#streams.dec();
    this.#ended.inc({ reason });
  }

  refused(): void {
    this.#refused.inc();
  }

  sent(event: (typeof EVENTS)[number]): void {
    this.#events.inc({ event });
  }
}
