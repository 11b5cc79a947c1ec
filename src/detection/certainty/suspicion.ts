/**
 * When a subject above a threshold is attacked: if the rate has held for the sustain time, and, where it is estimated from
 * samples, with the stated confidence (docs/sampling.md). Knows nothing of hosts: its owner's keys name them.
 */
import type { Now } from "../../system/now.ts";
import { Evidence, type ReadAt } from "./evidence.ts";
import { type Samples, SamplingRule } from "./sampling.ts";

/** Hosts, hostgroups and prefixes whose samples are added up until they are certainly above a threshold, or not. */
export const DOUBTFUL_TARGETS_MAX = 512;

export interface SuspicionPolicy {
  /** Rates are those of this time. */
  readonly windowMs: number;
  /** How long a rate must hold before it is an attack. */
  readonly sustainMs: number;
  /** With which rates that were estimated from samples must be above a threshold, 0 to 1. */
  readonly confidence: number;
}

/** The window of a subject whose rates are estimates. */
interface Estimate {
  /** Index of the first metric above its threshold; -1: none. */
  readonly crossed: number;
  /** The same for the first metric that is so with the stated confidence. */
  readonly certain: number;
  /** null: the metric is exact. */
  readonly samples: (metric: number) => Samples | null;
}

export class Suspicion {
  #policy: SuspicionPolicy;
  #rule: SamplingRule;
  /** Subjects that are above a threshold by their estimated rates, but not certainly. */
  readonly doubts = new Evidence<string>(DOUBTFUL_TARGETS_MAX);
  /** Subjects above a threshold for less than `sustainMs`: since when, monotonic ms. */
  #suspects = new Map<string, number>();

  constructor(policy: SuspicionPolicy) {
    this.#policy = policy;
    this.#rule = new SamplingRule(policy);
  }

  get rule(): SamplingRule {
    return this.#rule;
  }

  get suspects(): ReadonlyMap<string, number> {
    return this.#suspects;
  }

  reconfigure(policy: SuspicionPolicy): void {
    this.#policy = policy;
    this.#rule = new SamplingRule(policy);
  }

  /** Index of the first metric above its threshold with the stated confidence, by one window or several; -1: none. */
  firstCertain(key: string, { crossed, certain, samples }: Estimate, now: Now): number {
    const { sustainMs } = this.#policy;
    // A rate that must be sustained is added up further: its estimates are below the threshold now and then.
    if (certain >= 0 && sustainMs === 0) {
      this.doubts.delete(key);
      return certain;
    }
    const due = this.doubts.due(key, now.monotonicMs);
    const metric = due ?? crossed;
    if (metric < 0) return -1;
    const found = samples(metric);
    if (due !== null && this.doubts.add(key, found, this.#rule, this.windowAt(now))) {
      this.#suspects.set(key, now.monotonicMs - sustainMs);
      return due;
    }
    if (due === null && found !== null) this.doubts.begin(key, { metric, ...found }, this.windowAt(now));
    if (certain >= 0) return certain;
    // Once it was certain, the estimate decides whether the rate is sustained.
    return this.#suspects.has(key) ? crossed : -1;
  }

  /**
   * Whether the subject has been above a limit for `sustainMs`.
   * @param suspects those of this judgement, which get it.
   */
  isSustained(key: string, suspects: Map<string, number>, { monotonicMs }: Now): boolean {
    const since = this.#suspects.get(key) ?? monotonicMs;
    suspects.set(key, since);
    return monotonicMs - since >= this.#policy.sustainMs;
  }

  /** Ends a judgement of all subjects: others than these are above no threshold any more. */
  endJudgement(suspects: Map<string, number>, now: Now): void {
    this.#suspects = suspects;
    this.doubts.addSilence(this.#rule, this.windowAt(now));
  }

  windowAt({ monotonicMs }: Now): ReadAt {
    const { windowMs, sustainMs } = this.#policy;
    return { nowMs: monotonicMs, windowMs, sustainMs };
  }
}
