/** Keeps the profiles of hosts over a restart: restores them once, saves them every few minutes and at the end. */
import type { TrafficProfiles } from "./traffic-profile.ts";

/** Stores the profiles. Neither call blocks the event loop for long; both may reject. */
export interface ProfileKeeper {
  /** Returns the number of hosts. */
  load(profiles: TrafficProfiles): Promise<number>;
  save(profiles: TrafficProfiles): Promise<void>;
}

interface ProfileLoopOptions {
  readonly profiles: TrafficProfiles;
  readonly keeper: ProfileKeeper;
  /** Runs `fn` every `ms`; returns a function that cancels it. */
  readonly every: (ms: number, fn: () => void) => () => void;
  readonly onLoaded: (hosts: number) => void;
  readonly onFault: (operation: "load" | "save", cause: unknown) => void;
}

/** As baselines: what a process that is killed has learned in this time is lost. */
const SAVE_EVERY_MS = 300_000;

export class ProfileLoop {
  readonly #options: ProfileLoopOptions;
  #cancel: () => void = () => {};
  #work: Promise<void> | null = null;
  #isLoaded = false;

  constructor(options: ProfileLoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#run(() => this.#load());
    this.#cancel = this.#options.every(SAVE_EVERY_MS, () => this.#run(() => this.#save()));
  }

  /** Resolves when nothing is loaded or saved any more. The counter must be open until then. */
  async stop(): Promise<void> {
    this.#cancel();
    await this.#work;
    // A file that was not read is not replaced.
    if (this.#isLoaded) await this.#save();
  }

  #run(step: () => Promise<void>): void {
    this.#work ??= step().finally(() => {
      this.#work = null;
    });
  }

  async #load(): Promise<void> {
    const { keeper, profiles, onLoaded, onFault } = this.#options;
    try {
      onLoaded(await keeper.load(profiles));
    } catch (cause) {
      onFault("load", cause);
    }
    this.#isLoaded = true;
  }

  async #save(): Promise<void> {
    const { keeper, profiles, onFault } = this.#options;
    try {
      await keeper.save(profiles);
    } catch (cause) {
      onFault("save", cause);
    }
  }
}
