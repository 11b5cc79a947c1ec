/**
 * Reads the packets of attacks between ticks, so that announcements do not wait for it, and attaches the results to the
 * attacks. All attacks that are due are taken at once on another thread, and judged in short slices, the worst first.
 * Independent of what uses them.
 */

import type { Now } from "../../system/now.ts";
import type { AttackChange, Detector } from "../judge/detector.ts";
import type { Attack, ClassifiedEvent } from "./attack.ts";
import { findingsOf, noticeOf, type Reading } from "./attack-reading.ts";
import type { AttackSampler } from "./attack-sampler.ts";

/** Delay from a tick to its readings, ms: until then the announcements of the tick have left the process. */
export const READ_AFTER_MS = 20;
/** Time limit for one slice of readings, ms; at least one is made. Other work runs before the next slice. */
export const READING_SLICE_MS = 5;

interface SamplingLoopOptions {
  readonly sampler: AttackSampler;
  readonly detector: Detector;
  /** Runs `fn` once in `ms`; returns a function that cancels it. */
  readonly after: (ms: number, fn: () => void) => () => void;
  /** Lets other work run between two slices. */
  readonly nextTurn: () => Promise<void>;
  readonly now: () => Now;
  /** Whether what follows from earlier readings, as the search for rules, is far from done: first readings go on. */
  readonly isBehind: () => boolean;
  readonly onSampled: (attack: Attack) => void;
  /** The attack has its first classification, another one, or the same from many more packets. */
  readonly onClassified: (event: ClassifiedEvent) => void;
  /** Newer packets show the same kind. */
  readonly onSeen: (attack: Attack) => void;
  readonly onFault: (cause: unknown) => void;
}

export class SamplingLoop {
  readonly #options: SamplingLoopOptions;
  #cancel: (() => void) | null = null;
  /** null: nothing is being read. */
  #work: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: SamplingLoopOptions) {
    this.#options = options;
  }

  /** Restores the sampling of attacks of an earlier process. */
  start(): void {
    const { sampler, detector, now } = this.#options;
    for (const attack of detector.active.values()) sampler.begin(attack, now());
  }

  /** Resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    this.#cancel = null;
    await this.#work;
  }

  /** Call this with each tick, even without changes. */
  attacksChanged(changes: readonly AttackChange[], at: Now): void {
    const { sampler, after, isBehind } = this.#options;
    sampler.attacksChanged(changes, at);
    if (this.#isStopped || this.#work !== null || !sampler.isDue(at, isBehind())) return;
    this.#cancel ??= after(READ_AFTER_MS, () => {
      this.#cancel = null;
      this.#work = this.#read().finally(() => {
        this.#work = null;
      });
    });
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    const { sampler, now, nextTurn, isBehind, onFault } = this.#options;
    try {
      const readings = await sampler.taken(now(), isBehind());
      let beganMs = now().monotonicMs;
      for (const reading of readings ?? []) {
        if (this.#isStopped) return;
        this.#attach(reading);
        if (now().monotonicMs - beganMs < READING_SLICE_MS) continue;
        await nextTurn();
        beganMs = now().monotonicMs;
      }
    } catch (cause) {
      onFault(cause);
    }
  }

  #attach(reading: Reading): void {
    const { detector, onSampled, onClassified, onSeen } = this.#options;
    const attack = detector.attach(reading.id, findingsOf(reading));
    if (attack === null) return;
    if (reading.sample !== null) onSampled(attack);
    const notice = noticeOf(reading);
    if (notice === "reclassified") onClassified({ kind: "classified", attack, isNewKind: reading.isNewKind });
    if (notice === "newer") onSeen(attack);
  }
}
