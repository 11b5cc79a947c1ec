/** The liveness of scrub and edge nodes in words. Pure. */

import { t } from "../language.ts";
import type { Tone } from "./standing.ts";

export interface StateWord {
  readonly tone: Tone | "none";
  readonly text: string;
}

export interface Presence {
  readonly alive: boolean;
  /** Absent: no poll since the service started. */
  readonly last_seen?: string;
}

export function presenceWord({ alive, last_seen: lastSeen }: Presence): StateWord {
  if (alive) return { tone: "ok", text: t`alive` };
  return lastSeen === undefined ? { tone: "warn", text: t`not seen` } : { tone: "danger", text: t`lost` };
}

/** Lost nodes first, then nodes that have not polled yet. */
export function presenceOrder({ alive, last_seen: lastSeen }: Presence): number {
  if (alive) return 2;
  return lastSeen === undefined ? 1 : 0;
}
