/** Streams of server-sent events, and the events sent on them. */
import { MetricGroup } from "./metric-group.ts";

const ENDS = ["left", "slow", "refused", "stopped"] as const;
const EVENTS = ["attack", "ban", "exporter", "incident", "reload", "reset"] as const;

export class EventMetrics extends MetricGroup {
  readonly #streams = this.gauge("svc_api_event_streams", "Open event streams.");
  readonly #ended = this.counterOf(
    "svc_api_event_streams_ended_total",
    "Event streams that ended; `slow` means that the reader did not keep up and was disconnected.",
    "reason",
    ENDS,
  );
  readonly refused = this.counting(
    "svc_api_event_streams_refused_total",
    "Event streams that were refused because too many are open.",
  );
  readonly #events = this.counterOf(
    "svc_api_events_total",
    "Events that were sent, each counted once for any number of readers.",
    "event",
    EVENTS,
  );

  opened(): void {
    this.#streams.inc();
  }

  ended(reason: (typeof ENDS)[number]): void {
    this.#streams.dec();
    this.#ended.inc({ reason });
  }

  sent(event: (typeof EVENTS)[number]): void {
    this.#events.inc({ event });
  }
}
