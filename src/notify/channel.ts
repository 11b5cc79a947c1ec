/**
 * The notification channels and their common interface: deliver some events exactly once, or fail with a DeliveryFault.
 */

import type { Template } from "../schema/message-template.ts";
import type { Environment } from "../system/environment.ts";
import type { NotifyEvent } from "./event.ts";
import type { WireContext } from "./event-wire.ts";
import type { Reach } from "./reach.ts";

export interface Channel {
  /** The receivers: people get several events in one message, programs get one event at a time, in order. */
  readonly audience: "people" | "programs";
  /** After this time a delivery is aborted through `signal`. */
  readonly deadlineMs: number;
  deliver(events: readonly NotifyEvent[], signal: AbortSignal): Promise<void>;
}

export interface ChannelContext extends WireContext {
  readonly environment: Environment;
  /** The owner of an event's problem: the same from its begin to its end, whichever brain sends. Absent: the machine. */
  readonly sourceOf?: (event: NotifyEvent) => string;
  /** Wall clock, ms. */
  readonly wallMs: () => number;
  /** Template of messages for people; null: the texts are those of the service. */
  readonly template: Template | null;
  /** Which addresses may be reached; null: each. */
  readonly reach: Reach | null;
  readonly telegramApi: string;
  /** Additional certificate authority, PEM; null: only the system's. */
  readonly authority: string | null;
}
