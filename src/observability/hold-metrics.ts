/** Parked polls by channel. */
import type { Registry } from "prom-client";
import { MetricGroup } from "./metric-group.ts";

const HOLD_CHANNELS = ["rules", "zones"] as const;
type HoldChannel = (typeof HOLD_CHANNELS)[number];

const HOLD_ENDS = ["changed", "expired", "refused", "aborted", "stopped", "failed"] as const;
type HoldEnd = (typeof HOLD_ENDS)[number];

export class HoldMetrics extends MetricGroup {
  readonly #parked = this.gauge("svc_api_holds", "Polls parked until their document changes.", "channel");
  readonly #ended = this.counter(
    "svc_api_holds_ended_total",
    "Parked polls that were answered, by what ended them.",
    "channel",
    "reason",
  );
  readonly #refused = this.counter(
    "svc_api_holds_refused_total",
    "Polls that were not parked because too many polls are parked.",
    "channel",
  );

  constructor(registry: Registry) {
    super(registry);
    for (const channel of HOLD_CHANNELS) {
      this.#parked.set({ channel }, 0);
      this.#refused.inc({ channel }, 0);
      for (const reason of HOLD_ENDS) this.#ended.inc({ channel, reason }, 0);
    }
  }

  /** The metrics of one channel. */
  channel(channel: HoldChannel) {
    return {
      parked: () => this.#parked.inc({ channel }),
      ended: (reason: HoldEnd) => {
        this.#parked.dec({ channel });
        this.#ended.inc({ channel, reason });
      },
      refused: () => this.#refused.inc({ channel }),
    };
  }
}
