/**
 * Reads a configuration file off the event loop: a file of the maximum size takes seconds. The thread is kept for some
 * minutes after a reading, since the next reading then takes half as long; after any failure it is discarded.
 */
import type { CheckedConfig } from "../config/check.ts";
import { unpackConfig } from "../config/packed-config.ts";

import { environmentNow } from "../system/environment.ts";
import { type Cancel, nextTurn, type Timers } from "../system/timers.ts";
import type { ConfigMessage, ConfigOrder } from "./config-thread.ts";

/** How long a reload may take to read and check the configuration file, ms. */
export const CONFIG_READ_MS = 45_000;
/** Errors and warnings of a configuration that the service shows; `floodwall check` shows all. */
export const CONFIG_FINDINGS_SHOWN = 1000;

const THREAD = new URL("./config-thread.ts", import.meta.url);
/** How long the thread is kept after a reading; it uses some 25 MB. */
const THREAD_KEPT_MS = 600_000;

interface Reading {
  readonly thread: Worker;
  /** Ends the reading and the thread, for this reason. */
  readonly giveUp: (why: string) => void;
}

export class ConfigReader {
  readonly #timers: Timers;
  readonly #code: URL;
  #reading: Reading | null = null;
  /** The thread, waiting for the next reading. */
  #idle: Worker | null = null;
  #cancelEnd: Cancel = () => {};

  constructor(timers: Timers, code: URL = THREAD) {
    this.#timers = timers;
    this.#code = code;
  }

  /** One reading at a time. @param settings the file of settings by the API. Never rejects: a thread that fails or takes too long results in a problem. */
  async read(path: string, settings?: string): Promise<CheckedConfig> {
    const message = await this.#ask(path, settings);
    if (message.kind === "invalid") return { kind: "invalid", problems: firstLines(path, message.problems) };
    const config = await unpackConfig(message.packed, nextTurn);
    return { kind: "valid", config, warnings: firstLines(path, message.warnings) };
  }

  /** Ends a reading in progress with this as its problem, and stops the thread. */
  abort(why: string): void {
    this.#reading?.giveUp(why);
    this.#endIdle();
  }

  #ask(path: string, settings?: string): Promise<ConfigMessage> {
    return new Promise((resolve) => {
      const thread = this.#takeThread();
      const finish = (message: ConfigMessage) => {
        cancel();
        this.#reading = null;
        resolve(message);
      };
      const giveUp = (why: string) => {
        // The thread may hang in a read of something that is not a regular file.
        thread.terminate();
        finish({ kind: "invalid", problems: [`${path}: not read: ${why}`] });
      };
      const cancel = this.#timers.after(CONFIG_READ_MS, () =>
        giveUp(`reading takes longer than ${CONFIG_READ_MS / 1000} s`),
      );
      this.#reading = { thread, giveUp };
      thread.onmessage = ({ data }: MessageEvent<ConfigMessage>) => {
        if (this.#reading?.thread !== thread) return;
        finish(data);
        this.#keep(thread);
      };
      thread.postMessage({
        path,
        ...(settings !== undefined && { settings }),
        variables: environmentNow(),
      } satisfies ConfigOrder);
    });
  }

  #takeThread(): Worker {
    const idle = this.#idle;
    this.#cancelEnd();
    this.#idle = null;
    idle?.ref();
    return idle ?? this.#startThread();
  }

  #startThread(): Worker {
    const thread = new Worker(this.#code);
    const onGone = (why: string) => {
      if (this.#reading?.thread === thread) this.#reading.giveUp(`the thread that reads it ${why}`);
      else if (this.#idle === thread) this.#endIdle();
    };
    thread.onerror = ({ message }) => onGone(`failed: ${message}`);
    thread.addEventListener("close", () => onGone("ended"));
    return thread;
  }

  #keep(thread: Worker): void {
    this.#idle = thread;
    thread.unref();
    this.#cancelEnd = this.#timers.after(THREAD_KEPT_MS, () => this.#endIdle());
  }

  #endIdle(): void {
    this.#cancelEnd();
    this.#idle?.terminate();
    this.#idle = null;
  }
}

/** The first lines, and the number of the remaining ones. */
export function firstLines(path: string, lines: readonly string[]): readonly string[] {
  const more = lines.length - CONFIG_FINDINGS_SHOWN;
  if (more <= 0) return lines;
  return [...lines.slice(0, CONFIG_FINDINGS_SHOWN), `${path}: ${more} more: floodwall check shows them all`];
}
