/** The two clocks. Wall time is for records, TTLs and the wire; monotonic time for windows, holds and rates. */
import { readFileSync } from "node:fs";

export interface Clock {
  /** Milliseconds since the epoch. Jumps when the machine's time is set. */
  wallMs(): number;
  /** Milliseconds since an arbitrary moment before the start of the process. Never goes back. */
  monotonicMs(): number;
}

/** The kernel's time since boot, which goes on in standby and which other processes can read too. */
export function bootSeconds(): number {
  return Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
