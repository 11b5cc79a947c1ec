/**
 * Updates the baselines: restores them, learns once a second, and saves them every few minutes and at the end. A pass
 * that takes longer than a second skips ticks instead of queueing them. Passes run on a thread of the addon's.
 */
import type { BaselineLearner } from "./baseline-learner.ts";
import type { Baselines } from "./baselines.ts";
import type { LearnedRates } from "./learned-rates.ts";

/** Stores the baselines. Neither call blocks the event loop for long; both may reject. */
export interface BaselineKeeper {
  /** Returns the number of restored rows. */
  load(rates: LearnedRates, nowSeconds: number): Promise<number>;
  save(rates: LearnedRates, nowSeconds: number): Promise<void>;
}

export interface LearningLoopOptions {
  readonly learner: BaselineLearner;
  readonly baselines: Baselines;
  readonly keeper: BaselineKeeper;
  /** A clock that never goes back, also over restarts. */
  readonly nowSeconds: () => number;
  /** Runs `fn` every `ms`; returns a function that cancels it. */
  readonly every: (ms: number, fn: () => void) => () => void;
  /** Lets other work run between two steps of what follows a pass. */
  readonly nextTurn: () => Promise<void>;
  /** Called after each pass. Other work may run at each yield. */
  readonly onPassed: () => Iterable<void>;
  readonly onLoaded: (rows: number) => void;
  /** The failed operation: restoring or saving baselines, or a pass. */
  readonly onFault: (operation: "load" | "save" | "learn", cause: unknown) => void;
}

const LEARN_EVERY_MS = 1000;
const SAVE_EVERY_SECONDS = 300;

export class LearningLoop {
  readonly #options: LearningLoopOptions;
  #cancel: () => void = () => {};
  #work: Promise<void> | null = null;
  #saving: Promise<void> | null = null;
  #isStopped = false;
  #isLoaded = false;
  #savedSeconds = 0;

  constructor(options: LearningLoopOptions) {
    this.#options = options;
  }

  start(): void {
    const { every, nowSeconds } = this.#options;
    this.#savedSeconds = nowSeconds();
    this.#run();
    this.#cancel = every(LEARN_EVERY_MS, () => this.#run());
  }

  /** Resolves when no pass runs any more. Call save() then. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#work;
  }

  /** Saves what is learned now, after a save in progress. */
  async save(): Promise<void> {
    await this.#saving;
    if (this.#isLoaded) await this.#save();
  }

  #run(): void {
    this.#work ??= this.#pass().finally(() => {
      this.#work = null;
    });
  }

  async #pass(): Promise<void> {
    const { learner, baselines, nowSeconds, nextTurn, onPassed, onFault } = this.#options;
    // A reload may enable learning later.
    if (!learner.hasWork) return;
    if (!this.#isLoaded && baselines.rates !== null && baselines.hasBegun) await this.#load(baselines.rates);
    try {
      for await (const _ of learner.passAside(nowSeconds())) if (this.#isStopped) return;
      for (const _ of onPassed()) {
        await nextTurn();
        if (this.#isStopped) return;
      }
    } catch (cause) {
      onFault("learn", cause);
    }
    // Neither learning nor what follows a pass waits for the disk.
    if (this.#isLoaded && nowSeconds() - this.#savedSeconds >= SAVE_EVERY_SECONDS) {
      this.#saving ??= this.#save().finally(() => {
        this.#saving = null;
      });
    }
  }

  async #load(rates: LearnedRates): Promise<void> {
    const { keeper, nowSeconds, onLoaded, onFault } = this.#options;
    this.#isLoaded = true;
    try {
      onLoaded(await keeper.load(rates, Math.floor(nowSeconds())));
    } catch (cause) {
      onFault("load", cause);
    }
  }

  async #save(): Promise<void> {
    const { keeper, baselines, nowSeconds, onFault } = this.#options;
    this.#savedSeconds = nowSeconds();
    if (baselines.rates === null) return;
    try {
      await keeper.save(baselines.rates, Math.floor(nowSeconds()));
    } catch (cause) {
      onFault("save", cause);
    }
  }
}
