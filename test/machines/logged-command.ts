/** A program whose output goes to the end of a file. */
import { closeSync, openSync } from "node:fs";

export interface LoggedOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Both kinds of output are appended. */
  readonly log: string;
  readonly deadlineMs: number;
}

/** Returns the exit code; null when a signal ended it, as at its deadline. It does not outlive this process. */
export async function runLogged(
  command: readonly string[],
  { environment, log, deadlineMs }: LoggedOptions,
): Promise<number | null> {
  const output = openSync(log, "a");
  try {
    const child = Bun.spawn(["setpriv", "--pdeathsig", "KILL", ...command], {
      env: { ...environment },
      stdin: "ignore",
      stdout: output,
      stderr: output,
      timeout: deadlineMs,
      killSignal: "SIGKILL",
    });
    await child.exited;
    return child.exitCode;
  } finally {
    closeSync(output);
  }
}
