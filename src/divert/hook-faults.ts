/**
 * Why the hook does not divert a prefix, for as long as bans are to act otherwise. Kept after the diversion has ended, so
 * that what failed and ended within a second is seen, too.
 */
import type { DiversionFault } from "../mitigation/diversion.ts";
import type { Clock } from "../system/clock.ts";

export interface HookFault extends DiversionFault {
  readonly prefix: string;
  /** The reason alone, without the prefix. */
  readonly error: string;
}

interface Kept {
  readonly fault: HookFault;
  /** Monotonic, ms. */
  readonly untilMs: number;
}

const KEPT_MAX = 4096;

export class HookFaults {
  readonly #clock: Clock;
  /** By prefix, the oldest first. */
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  put({ prefix, error, isLost }: Omit<HookFault, "cause">, seconds: number): void {
    const cause = `the scrubbing hook does not divert ${prefix}: ${error}`;
    const untilMs = this.#clock.monotonicMs() + seconds * 1000;
    this.#kept.delete(prefix);
    this.#kept.set(prefix, { fault: { prefix, error, isLost, cause }, untilMs });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_MAX) break;
      this.#kept.delete(oldest);
    }
  }

  delete(prefix: string): void {
    this.#kept.delete(prefix);
  }

  of(prefix: string): HookFault | null {
    return this.leftMs(prefix) > 0 ? (this.#kept.get(prefix)?.fault ?? null) : null;
  }

  /** How long bans act otherwise; 0: not any more. */
  leftMs(prefix: string): number {
    return Math.max(0, (this.#kept.get(prefix)?.untilMs ?? 0) - this.#clock.monotonicMs());
  }

  /** Those that are in force. */
  all(): readonly HookFault[] {
    return [...this.#kept.keys()].flatMap((prefix) => this.of(prefix) ?? []);
  }
}
