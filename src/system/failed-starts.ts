/**
 * Delays the end of a process that could not start, longer each time, so that a service manager that starts it again for
 * ever does not do so in a tight loop. systemd counts this only from version 254 on (RestartSteps=).
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Environment, processEnvironment } from "./environment.ts";
import { Pause } from "./pause.ts";
import { processSignals, type Signals } from "./signals.ts";
import { systemTimers, type Timers } from "./timers.ts";

/** Also the pause where the starts cannot be counted. */
const PAUSE_MAX_SECONDS = 30;

interface FailedStartsOptions {
  readonly environment: Environment;
  readonly timers: Pick<Timers, "after">;
  readonly signals: Signals;
  readonly say: (line: string) => void;
}

export class FailedStarts {
  readonly #options: FailedStartsOptions;
  /** Kept over restarts by the service manager, and removed when the service is stopped; null: there is none. */
  readonly #file: string | null;

  constructor(options: FailedStartsOptions) {
    this.#options = options;
    const directory = options.environment.read("RUNTIME_DIRECTORY");
    this.#file = directory === null || directory === "" ? null : join(directory, "failed-starts");
  }

  /** Waits, if a service manager will start the process again, until a signal to stop. */
  async failed(): Promise<void> {
    if (this.#file === null) return;
    const { timers, signals } = this.#options;
    const pause = new Pause(timers);
    for (const signal of ["SIGTERM", "SIGINT"] as const) signals.on(signal, () => pause.end());
    const seconds = pauseAfter(this.#count(this.#file));
    this.#options.say(`floodwall: ends in ${seconds} s, so that the service manager starts it again`);
    await pause.wait(seconds * 1000);
  }

  succeeded(): void {
    if (this.#file !== null) rmSync(this.#file, { force: true });
  }

  /** Number of failed starts with this one; null: unknown. */
  #count(file: string): number | null {
    try {
      const count = 1 + numberIn(file);
      writeFileSync(file, `${count}\n`);
      return count;
    } catch {
      return null;
    }
  }
}

/** Runs `start`, which calls back once the process is up and resolves with its exit code. */
export async function startedAgainOnFailure(start: (isUp: () => void) => Promise<number>): Promise<number> {
  const say = (line: string) => console.error(line);
  const surroundings = { environment: processEnvironment, timers: systemTimers, signals: processSignals };
  const starts = new FailedStarts({ ...surroundings, say });
  let code = 1;
  try {
    code = await start(() => starts.succeeded());
    return code;
  } finally {
    if (code !== 0) await starts.failed();
  }
}

/** 1, 2, 4, 8, 16, then always 30 seconds. */
function pauseAfter(count: number | null): number {
  return count === null ? PAUSE_MAX_SECONDS : Math.min(PAUSE_MAX_SECONDS, 2 ** (count - 1));
}

function numberIn(file: string): number {
  try {
    const count = Number(readFileSync(file, "utf8"));
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw cause;
  }
}
