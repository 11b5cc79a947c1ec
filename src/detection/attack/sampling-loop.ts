/**
 * Has the packets of attacks looked at in the pauses between ticks, so that no announcement waits for it, and attaches
 * what they show to their attacks. Knows nothing of where that goes from there.
 */

import type { AttackChange, Detector } from "../judge/detector.ts";
import type { Attack, ClassifiedEvent, Now } from "./attack.ts";
import { type AttackSampler, findingsOf, noticeOf, type Reading } from "./attack-sampler.ts";

/** From a tick to the readings that follow it, ms: by then what the tick ordered has left the process. */
export const READ_AFTER_MS = 20;
/** How long the readings of one tick may keep the event loop, ms; one is always made. */
export const READING_BUDGET_MS = 5;

export interface SamplingLoopOptions {
  readonly sampler: AttackSampler;
  readonly detector: Detector;
  /** Runs `fn` once, `ms` from now; returns what calls it off. */
  readonly after: (ms: number, fn: () => void) => () => void;
  readonly now: () => Now;
  readonly onSampled: (attack: Attack) => void;
  /** Its kind can be told now, is another, or is told from many more packets. */
  readonly onClassified: (told: ClassifiedEvent) => void;
  /** It is of the kind that it was, by newer packets. */
  readonly onSeen: (attack: Attack) => void;
  readonly onFault: (cause: unknown) => void;
}

export class SamplingLoop {
  readonly #options: SamplingLoopOptions;
  #cancel: (() => void) | null = null;

  constructor(options: SamplingLoopOptions) {
    this.#options = options;
  }

  /** Takes up attacks that an earlier process left. */
  start(): void {
    const { sampler, detector, now } = this.#options;
    for (const attack of detector.active.values()) sampler.begin(attack, now());
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  /** Called with each tick, also when nothing changed. */
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
    if (notice === "told") onClassified({ kind: "classified", attack, isNewKind, packets });
    if (notice === "newer") onSeen(attack);
  }
}
