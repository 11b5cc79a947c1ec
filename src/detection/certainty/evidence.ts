/**
 * Adds up the samples of what is above a threshold by its estimate, but not with the stated confidence in one window: a
 * lasting excess becomes certain with time (docs/sampling.md). Knows nothing of hosts: its owner's keys name them.
 */
import { deviateOf, type Samples, type SamplingRule } from "./sampling.ts";

/** One window of a subject. */
interface Window extends Samples {
  /** The metric that the samples are of. */
  readonly metric: number;
}

interface Sum extends Window {
  readonly metric: number;
  readonly seen: number;
  readonly expected: number;
  /** Expected in one window. */
  readonly perWindow: number;
  /** When the next window is over that has no samples in common with the ones before, monotonic ms. */
  readonly dueMs: number;
  readonly windows: number;
  /** When the first window began, monotonic ms. */
  readonly sinceMs: number;
}

/** When a window was read, monotonic ms. */
export interface ReadAt {
  readonly nowMs: number;
  readonly windowMs: number;
  /** How much time a sum must be of until it says that a threshold is exceeded. */
  readonly sustainMs: number;
}

/** A sum begins with these at least: otherwise every host with one sample would have one. */
const LEAST_SAMPLES = 2;
const LEAST_DEVIATE = 2;

export class Evidence<Key> {
  readonly #sums = new Map<Key, Sum>();
  readonly #capacity: number;
  #hasChanged = false;
  /** Windows that found no room. */
  refused = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#sums.size;
  }

  /** Whether the keys are others than at the last call. */
  hasChanged(): boolean {
    const hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    return hasChanged;
  }

  keys(): Iterable<Key> {
    return this.#sums.keys();
  }

  /** The keys that have a second window, or a window before `monotonicMs`. */
  *keysDueBefore(monotonicMs: number): Generator<Key> {
    for (const [key, { dueMs, windows }] of this.#sums) if (windows > 1 || dueMs <= monotonicMs) yield key;
  }

  /** The metric whose sum for this key is waiting for a window at `monotonicMs`; null: none is. */
  due(key: Key, monotonicMs: number): number | null {
    const sum = this.#sums.get(key);
    return sum === undefined || monotonicMs < sum.dueMs ? null : sum.metric;
  }

  /** Begins a sum with a window above the threshold. */
  begin(key: Key, { metric, seen, expected }: Window, { nowMs, windowMs }: ReadAt): void {
    if (this.#sums.has(key) || seen < LEAST_SAMPLES || deviateOf(seen, expected) < LEAST_DEVIATE) return;
    if (this.#sums.size >= this.#capacity) {
      this.refused++;
      return;
    }
    const [sinceMs, dueMs] = [nowMs - windowMs, nowMs + windowMs];
    this.#sums.set(key, { metric, seen, expected, perWindow: expected, dueMs, windows: 1, sinceMs });
    this.#hasChanged = true;
  }

  /**
   * Adds a window that is due; null: it had no samples. Returns whether the threshold is certainly exceeded, for long
   * enough. The sum is dropped when it is, and when its mean is not above the threshold any more.
   */
  add(key: Key, window: Samples | null, rule: SamplingRule, at: ReadAt): boolean {
    const sum = this.#sums.get(key);
    if (sum === undefined) return false;
    const perWindow = window?.expected ?? sum.perWindow;
    const seen = sum.seen + (window?.seen ?? 0);
    const expected = sum.expected + perWindow;
    // A reload may have switched the metric's threshold off.
    const isLong = at.nowMs - sum.sinceMs >= at.sustainMs;
    const isCertain = isLong && perWindow > 0 && rule.isCertain({ seen, expected });
    if (isCertain || perWindow === 0 || seen <= expected) this.delete(key);
    else {
      const dueMs = at.nowMs + at.windowMs;
      this.#sums.set(key, { ...sum, seen, expected, perWindow, dueMs, windows: sum.windows + 1 });
    }
    return isCertain;
  }

  delete(key: Key): void {
    if (this.#sums.delete(key)) this.#hasChanged = true;
  }

  /** A window without samples for each key that is due. */
  addSilence(rule: SamplingRule, at: ReadAt): void {
    for (const [key, { dueMs }] of this.#sums) if (at.nowMs >= dueMs) this.add(key, null, rule, at);
  }
}
