/** Parked polls by channel. */
import { Counter, Gauge, type Registry } from "prom-client";

const HOLD_CHANNELS = ["rules", "zones"] as const;
export type HoldChannel = (typeof HOLD_CHANNELS)[number];

const HOLD_ENDS = ["changed", "expired", "refused", "aborted", "stopped", "failed"] as const;
export type HoldEnd = (typeof HOLD_ENDS)[number];

export class HoldMetrics {
  readonly #parked: Gauge<"channel">;
  readonly #ended: Counter<"channel" | "reason">;
  readonly #refused: Counter<"channel">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#parked = new Gauge({
      name: "svc_api_holds",
      help: "Polls parked until their document changes.",
      labelNames: ["channel"],
      registers,
    });
    this.#ended = new Counter({
      name: "svc_api_holds_ended_total",
      help: "Parked polls that were answered, by what ended them.",
      labelNames: ["channel", "reason"],
      registers,
    });
    this.#refused = new Counter({
      name: "svc_api_holds_refused_total",
      help: "Polls that were not parked because too many polls are parked.",
      labelNames: ["channel"],
      registers,
    });
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
