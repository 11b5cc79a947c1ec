/** The ways out of here, and what each has in common: some events, delivered once or not at all, or a DeliveryFault. */
import type { Environment } from "../system/environment.ts";
import type { NotifyEvent } from "./event.ts";

export const CHANNELS = ["webhook", "slack", "telegram", "email", "exec"] as const;
export type ChannelName = (typeof CHANNELS)[number];

export interface Channel {
  /** Whom it speaks to: people get several events in one message, programs one at a time, in order. */
  readonly audience: "people" | "programs";
  /** After this time a delivery is broken off, by `signal`. */
  readonly deadlineMs: number;
  deliver(events: readonly NotifyEvent[], signal: AbortSignal): Promise<void>;
}

export interface ChannelContext {
  readonly environment: Environment;
  /** Wall clock, ms. */
  readonly wallMs: () => number;
  /** The machine's name, as messages give it. */
  readonly instance: string;
  readonly telegramApi: string;
  /** Certificate authority beside the system's, PEM; null: none. */
  readonly authority: string | null;
}
