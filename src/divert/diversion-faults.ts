/**
 * Prefixes that the hook does not divert: why, and until when their bans act otherwise. Bounded: the oldest go first, so
 * that the hook is called for them sooner.
 */
import type { DiversionFault } from "../mitigation/diversion.ts";

const FAULTS_KEPT = 4096;

/** @param untilMs monotonic, ms. */
type Timed = DiversionFault & { readonly untilMs: number };

export class DiversionFaults {
  readonly #monotonicMs: () => number;
  /** By prefix. */
  readonly #faults = new Map<string, Timed>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  set(fault: Timed): void {
    this.#faults.delete(fault.prefix);
    this.#faults.set(fault.prefix, fault);
    for (const oldest of this.#faults.keys()) {
      if (this.#faults.size <= FAULTS_KEPT) break;
      this.#faults.delete(oldest);
    }
  }

  delete(prefix: string): void {
    this.#faults.delete(prefix);
  }

  /** null: there is none, or its time is over. */
  of(prefix: string): DiversionFault | null {
    const fault = this.#faults.get(prefix);
    return fault !== undefined && this.#monotonicMs() < fault.untilMs ? fault : null;
  }

  /** Those whose time is not over. */
  all(): readonly DiversionFault[] {
    return [...this.#faults.keys()].flatMap((prefix) => this.of(prefix) ?? []);
  }
}
