/** Runs the tests of mutants, each with the nearest first, until one fails. */
import { apply, type Mutant } from "./draw.ts";
import type { TestProcesses } from "./test-process.ts";
import type { TreeCopy } from "./tree-copy.ts";

export type Outcome = "killed" | "survived" | "timed out" | "not covered";

export interface MutantResult extends Mutant {
  readonly outcome: Outcome;
  /** The test that noticed it; null when none did. */
  readonly killedBy: string | null;
  readonly testsRun: number;
  readonly seconds: number;
}

export interface MutantRunOptions {
  readonly processes: Pick<TestProcesses, "run">;
  /** A copy that stays as it is: there each test shows that it passes without a mutant. */
  readonly unchanged: Pick<TreeCopy, "directory">;
  readonly textOf: (path: string) => string;
  readonly testsOf: (path: string) => readonly string[];
  /** Of one mutant. */
  readonly testsMax: number;
}

/** CPU seconds of a test without a mutant; null when it fails so, and can show nothing. */
type UsualRun = Promise<number | null>;

export class MutantRun {
  readonly #options: MutantRunOptions;
  readonly #usual = new Map<string, UsualRun>();
  readonly #failing = new Set<string>();

  constructor(options: MutantRunOptions) {
    this.#options = options;
  }

  /** Tests that failed twice without a mutant, and were left out. */
  get failing(): string[] {
    return [...this.#failing].sort();
  }

  /** In a copy that no other mutant is tried in at the same time; leaves it as it was. */
  async try(mutant: Mutant, copy: Pick<TreeCopy, "directory" | "write">): Promise<MutantResult> {
    const { textOf, testsOf, testsMax, processes } = this.#options;
    const startMs = performance.now();
    const text = textOf(mutant.path);
    let testsRun = 0;
    const result = (outcome: Outcome, killedBy: string | null = null): MutantResult => {
      return { ...mutant, outcome, killedBy, testsRun, seconds: (performance.now() - startMs) / 1000 };
    };
    copy.write(mutant.path, apply(text, mutant));
    try {
      for (const test of testsOf(mutant.path)) {
        if (testsRun === testsMax) break;
        const usualCpuSeconds = await this.#usualCpuSeconds(test);
        if (usualCpuSeconds === null) continue;
        testsRun++;
        const { verdict } = await processes.run({ directory: copy.directory, test, usualCpuSeconds });
        if (verdict !== "passed") return result(verdict === "failed" ? "killed" : "timed out", test);
      }
    } finally {
      copy.write(mutant.path, text);
    }
    return result(testsRun === 0 ? "not covered" : "survived");
  }

  #usualCpuSeconds(test: string): UsualRun {
    const run = this.#usual.get(test) ?? this.#runUnchanged(test);
    this.#usual.set(test, run);
    return run;
  }

  async #runUnchanged(test: string): UsualRun {
    const request = { directory: this.#options.unchanged.directory, test, usualCpuSeconds: null };
    for (let tries = 0; tries < 2; tries++) {
      const { verdict, cpuSeconds } = await this.#options.processes.run(request);
      if (verdict === "passed") return cpuSeconds;
    }
    this.#failing.add(test);
    return null;
  }
}
