/** The words for nodes of either kind that poll the service, or do not. Pure. */
import type { Tone } from "../parts/callout.tsx";

export interface StateWord {
  readonly tone: Tone | "none";
  readonly text: string;
}

export interface Presence {
  readonly alive: boolean;
  /** Absent: not since the service started. */
  readonly last_seen?: string;
}

export function presenceWord({ alive, last_seen: lastSeen }: Presence): StateWord {
  if (alive) return { tone: "ok", text: "alive" };
  return lastSeen === undefined ? { tone: "warn", text: "not heard of" } : { tone: "danger", text: "lost" };
}

/** Lost ones first, then those that were never there. */
export function presenceOrder({ alive, last_seen: lastSeen }: Presence): number {
  if (alive) return 2;
  return lastSeen === undefined ? 1 : 0;
}
