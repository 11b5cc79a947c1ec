/** A brain's clocks and timers in a model: they run at a rate of their own, can be set, and stand still for a frozen brain. */
import type { Clock } from "../../../src/system/clock.ts";
import { type Cancel, checkedDelay, type Timers } from "../../../src/system/timers.ts";

interface Wakeup {
  readonly atMs: number;
  readonly fn: () => void;
}

export class ModelClock implements Clock, Timers {
  /** Seconds of this clock in a true one: within 1 % of 1. */
  readonly rate: number;
  isFrozen = false;
  #monotonicMs = 0;
  #wallOffsetMs: number;
  #wakeups = new Set<Wakeup>();

  constructor(wallMs: number, rate: number) {
    this.#wallOffsetMs = wallMs;
    this.rate = rate;
  }

  wallMs(): number {
    return this.#monotonicMs + this.#wallOffsetMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  after(ms: number, fn: () => void): Cancel {
    const wakeup = { atMs: this.#monotonicMs + checkedDelay(ms, 0), fn };
    this.#wakeups.add(wakeup);
    return () => this.#wakeups.delete(wakeup);
  }

  every(ms: number, fn: () => void): Cancel {
    const arm = (): Cancel =>
      this.after(ms, () => {
        cancel = arm();
        fn();
      });
    let cancel = arm();
    return () => cancel();
  }

  /** True time goes on. */
  advance(trueMs: number): void {
    this.#monotonicMs += trueMs * this.rate;
    this.run();
  }

  /** Runs what is due, late as it may be; a frozen brain runs nothing. */
  run(): void {
    if (this.isFrozen) return;
    const due = [...this.#wakeups].filter(({ atMs }) => atMs <= this.#monotonicMs).sort((a, b) => a.atMs - b.atMs);
    for (const wakeup of due) if (this.#wakeups.delete(wakeup)) wakeup.fn();
  }

  setWall(wallMs: number): void {
    this.#wallOffsetMs = wallMs - this.#monotonicMs;
  }

  /** The process ends. */
  dropTimers(): void {
    this.#wakeups = new Set();
  }
}
