/** What a demonstration builds, and how it ends: all is undone, the last first, also at a fault and at Ctrl-C. */
import type { Narrator } from "./narrator.ts";

/** Each thing that is made puts its undoing on the list. */
export type Undo = (() => void | Promise<void>)[];

/** Also what is made meanwhile. */
export async function undoAll(undo: Undo): Promise<void> {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
}

export interface Stage {
  readonly undo: Undo;
  /** Shown after a fault: what the processes last said. */
  lastWords: () => string;
}

export interface Demonstration {
  readonly say: Narrator;
  readonly show: (stage: Stage) => Promise<void>;
  /** Exit code at SIGINT and SIGTERM: 0 where a demonstration goes on until then. */
  readonly codeAtInterrupt: 0 | 1;
}

/** A fault is reported, and sets the exit code 1. */
export async function perform({ say, show, codeAtInterrupt }: Demonstration): Promise<void> {
  const stage: Stage = { undo: [], lastWords: () => "" };
  let isInterrupted = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      isInterrupted = true;
      void undoAll(stage.undo).then(() => process.exit(codeAtInterrupt));
    });
  }
  try {
    await show(stage);
  } catch (cause) {
    // Undoing pulls the world from under the step in progress.
    if (isInterrupted) return;
    say.fail(cause instanceof Error ? cause.message : String(cause));
    console.error(stage.lastWords());
    process.exitCode = 1;
  } finally {
    await undoAll(stage.undo);
  }
}
