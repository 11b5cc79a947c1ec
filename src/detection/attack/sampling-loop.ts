/**
 * Reads the packets of attacks between ticks, so that announcements do not wait for it, and attaches the results to the
 * attacks. Independent of what uses them.
 */

import type { Now } from "../../system/now.ts";
import type { AttackChange, Detector } from "../judge/detector.ts";
import type { Attack, ClassifiedEvent } from "./attack.ts";
import { type AttackSampler, findingsOf, noticeOf, type Reading } from "./attack-sampler.ts";

/** Delay from a tick to its readings, ms: until then the announcements of the tick have left the process. */
export const READ_AFTER_MS = 20;
/** Time limit for the readings of one tick, ms; at least one is made. */
export const READING_BUDGET_MS = 5;

export interface SamplingLoopOptions {
  readonly sampler: AttackSampler;
  readonly detector: Detector;
  /** Runs `fn` once in `ms`; returns a function that cancels it. */
  readonly after: (ms: number, fn: () => void) => () => void;
  readonly now: () => Now;
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

  constructor(options: SamplingLoopOptions) {
    this.#options = options;
  }

  /** Restores the sampling of attacks of an earlier process. */
  start(): void {
    const { sampler, detector, now } = this.#options;
    for (const attack of detector.active.values()) sampler.begin(attack, now());
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  /** Call this with each tick, even without changes. */
  attacksChanged(changes: readonly AttackChange[], at: Now): void {
    const { sampler, after } = this.#options;
    sampler.attacksChanged(changes, at);
    if (sampler.isDue(at)) this.#cancel ??= after(READ_AFTER_MS, () => this.#read());
  }

  #read(): void {
    const { sampler, now, onFault } = this.#options;
    this.#cancel = null;
    const began = now();
    try {
      for (const reading of sampler.readings(began)) {
        this.#attach(reading);
        if (now().monotonicMs - began.monotonicMs >= READING_BUDGET_MS) break;
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
    const { isNewKind, packets } = reading;
    const notice = noticeOf(reading);
    if (notice === "reclassified") onClassified({ kind: "classified", attack, isNewKind, packets });
    if (notice === "newer") onSeen(attack);
  }
}
