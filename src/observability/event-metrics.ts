/** Streams of server-sent events, and what is told on them. */
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
    this.#streams = new Gauge({ name: "svc_api_event_streams", help: "Streams of events that are open.", registers });
    this.#ended = new Counter({
      name: "svc_api_event_streams_ended_total",
      help: "Streams of events that ended; `slow` is a reader that was cut off because he did not keep up.",
      labelNames: ["reason"],
      registers,
    });
    this.#refused = new Counter({
      name: "svc_api_event_streams_refused_total",
      help: "Streams of events that were not opened because too many are open.",
      registers,
    });
    this.#events = new Counter({
      name: "svc_api_events_total",
      help: "Events that were told, each counted once however many listen.",
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
