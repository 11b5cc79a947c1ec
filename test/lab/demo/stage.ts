/** Prints a demonstration, a line a step, and ends it: everything is undone, also after a fault and at Ctrl-C. */
import { Undo } from "../../fixtures/undo.ts";

export class Stage {
  readonly #startedMs = performance.now();
  readonly undo = new Undo();
  /** Shown after a fault: what the processes last said. */
  lastWords: () => string = () => "";

  step(name: string, text: string): void {
    console.log(`${this.#time()}  ${name.padEnd(8)}${text}`);
  }

  fail(text: string): void {
    console.error(`${this.#time()}  FAILED  ${text}`);
  }

  #time(): string {
    return `${((performance.now() - this.#startedMs) / 1000).toFixed(3).padStart(8)} s`;
  }
}

/**
 * A fault is reported, and sets the exit code 1: also that of a flood which fails while another step is waited for.
 * `codeAtInterrupt` is that of SIGINT and SIGTERM: 0 where a demonstration goes on until then.
 */
export async function perform(show: (stage: Stage) => Promise<void>, codeAtInterrupt: 0 | 1): Promise<void> {
  const stage = new Stage();
  let isInterrupted = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      isInterrupted = true;
      void stage.undo.all().then(() => process.exit(codeAtInterrupt));
    });
  }
  const report = (cause: unknown) => {
    // Undoing pulls the world from under the step in progress.
    if (isInterrupted) return;
    stage.fail(cause instanceof Error ? cause.message : String(cause));
    console.error(stage.lastWords());
    process.exitCode = 1;
  };
  process.on("unhandledRejection", (cause) => {
    report(cause);
    isInterrupted = true;
    void stage.undo.all().then(() => process.exit());
  });
  try {
    await show(stage);
  } catch (cause) {
    report(cause);
  } finally {
    await stage.undo.all();
  }
}

/** `200,000`. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
