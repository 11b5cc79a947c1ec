/**
 * Runs the ticks: at each tick the packet counter folds on a thread of its own, and the screened rows are judged. A
 * tick that takes too long skips the next ones instead of queueing them. While hosts rise towards their limits, they are
 * also judged between ticks. Independent of what is done about an attack.
 */
import type { Now } from "../../system/now.ts";
import type { AttackChange } from "./detector.ts";
import type { ScreenedRates, TickJudge } from "./tick-judge.ts";

interface FoldSummary {
  readonly trackedHosts: number;
  /** Number of rows for readScreened(). */
  readonly screened: number;
  readonly foldMicros: number;
  /** Number of hosts that may reach their screen before the next tick. */
  readonly rising: number;
}

/** Time between two looks at rising hosts, ms. Without such hosts there are none. */
export const LOOK_EVERY_MS = 10;

export interface PacketCounter extends ScreenedRates {
  /** Updates all windows to the present time. Only one call at a time. */
  tick(): Promise<FoldSummary>;
}

export interface CompletedTick {
  readonly summary: FoldSummary;
  /** Time that judging and acting blocked the event loop, ms. */
  readonly busyMs: number;
  /** It was of settings that were replaced meanwhile: attacks were measured, and nothing was judged. */
  readonly isStale: boolean;
}

interface DetectionLoopOptions {
  readonly counter: PacketCounter;
  readonly judge: TickJudge;
  readonly tickMs: number;
  readonly now: () => Now;
  /** Runs `fn` once in `ms`; returns a function that cancels it. */
  readonly after: (ms: number, fn: () => void) => () => void;
  readonly onChanges: (changes: readonly AttackChange[], now: Now) => void;
  readonly onTick: (tick: CompletedTick) => void;
  readonly onFault: (cause: unknown) => void;
}

export class DetectionLoop {
  readonly #options: DetectionLoopOptions;
  #dueMs = 0;
  #cancel: () => void = () => {};
  #cancelLook: () => void = () => {};
  #currentTick: Promise<void> = Promise.resolve();
  #isStopped = true;
  /** The hostgroups changed during the present fold. */
  #isStale = false;

  constructor(options: DetectionLoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#isStopped = false;
    this.#dueMs = this.#options.now().monotonicMs;
    this.#schedule();
  }

  /** The hostgroups changed: the present fold used the old ones, and must not be judged by the new ones. */
  reconfigured(): void {
    this.#isStale = true;
    this.#cancelLook();
  }

  /** Returns when the tick in progress has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    this.#cancelLook();
    await this.#currentTick;
  }

  #schedule(): void {
    if (this.#isStopped) return;
    const { tickMs, now, after } = this.#options;
    const lateMs = now().monotonicMs - this.#dueMs;
    const skipped = Math.max(0, Math.floor(lateMs / tickMs));
    this.#dueMs += (skipped + 1) * tickMs;
    this.#cancel = after(Math.max(0, this.#dueMs - now().monotonicMs), () => {
      this.#cancelLook();
      this.#currentTick = this.#run().finally(() => this.#schedule());
    });
  }

  async #run(): Promise<void> {
    const { counter, judge, now, onChanges, onTick, onFault } = this.#options;
    try {
      this.#isStale = false;
      const summary = await counter.tick();
      const at = now();
      // A reload may follow from a change.
      const isStale = this.#isStale;
      if (isStale) judge.measure(at);
      else onChanges(judge.judge(at), at);
      onTick({ summary, busyMs: now().monotonicMs - at.monotonicMs, isStale });
      if (!this.#isStale && summary.rising > 0) this.#scheduleLook();
    } catch (cause) {
      // A failed tick must not stop the loop.
      onFault(cause);
    }
  }

  /** Until the next tick. */
  #scheduleLook(): void {
    if (this.#isStopped) return;
    this.#cancelLook = this.#options.after(LOOK_EVERY_MS, () => {
      this.#look();
      this.#scheduleLook();
    });
  }

  #look(): void {
    const { judge, now, onChanges, onFault } = this.#options;
    try {
      const at = now();
      const changes = judge.judgeRising(at);
      if (changes.length > 0) onChanges(changes, at);
    } catch (cause) {
      onFault(cause);
    }
  }
}
