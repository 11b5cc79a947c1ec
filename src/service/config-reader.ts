/**
 * Reads a configuration file off the event loop: a file at its bounds takes seconds. The thread that read one is kept for
 * some minutes, since the next reading then takes half as long, and given up with whatever else goes wrong with it.
 */
import type { CheckedConfig } from "../config/check.ts";
import { unpackConfig } from "../config/packed-config.ts";
import { CONFIG_FINDINGS_SHOWN, CONFIG_READ_MS } from "../limits.ts";
import { environmentNow } from "../system/environment.ts";
import { type Cancel, nextTurn, type Timers } from "../system/timers.ts";
import type { ConfigMessage, ConfigOrder } from "./config-thread.ts";

const THREAD = new URL("./config-thread.ts", import.meta.url);
/** After a reading. It takes some 25 MB meanwhile. */
const THREAD_KEPT_MS = 600_000;

interface Reading {
  readonly thread: Worker;
  /** Ends it and the thread, for this reason. */
  readonly giveUp: (why: string) => void;
}

export class ConfigReader {
  readonly #timers: Timers;
  readonly #code: URL;
  #reading: Reading | null = null;
  /** Waits for the next reading. */
  #idle: Worker | null = null;
  #cancelEnd: Cancel = () => {};

  constructor(timers: Timers, code: URL = THREAD) {
    this.#timers = timers;
    this.#code = code;
  }

  /** One at a time. Never rejects: a thread that breaks, or takes too long, is a problem like any other. */
  async read(path: string): Promise<CheckedConfig> {
    const message = await this.#ask(path);
    if (message.kind === "invalid") return { kind: "invalid", problems: firstLines(path, message.problems) };
    const config = await unpackConfig(message.packed, nextTurn);
    return { kind: "valid", config, warnings: firstLines(path, message.warnings) };
  }

  /** A reading under way ends at once, with this as its problem, and no thread is left. */
  abort(why: string): void {
    this.#reading?.giveUp(why);
    this.#endIdle();
  }

  #ask(path: string): Promise<ConfigMessage> {
    return new Promise((resolve) => {
      const thread = this.#takeThread();
      const finish = (message: ConfigMessage) => {
        cancel();
        this.#reading = null;
        resolve(message);
      };
      const giveUp = (why: string) => {
        // Whatever it does: it may hang in a read of something that is no file.
        thread.terminate();
        finish({ kind: "invalid", problems: [`${path}: not read: ${why}`] });
      };
      const cancel = this.#timers.after(CONFIG_READ_MS, () =>
        giveUp(`this takes longer than ${CONFIG_READ_MS / 1000} s`),
      );
      this.#reading = { thread, giveUp };
      thread.onmessage = ({ data }: MessageEvent<ConfigMessage>) => {
        if (this.#reading?.thread !== thread) return;
        finish(data);
        this.#keep(thread);
      };
      thread.postMessage({ path, variables: environmentNow() } satisfies ConfigOrder);
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

/** The first ones, and how many more there are. */
export function firstLines(path: string, lines: readonly string[]): readonly string[] {
  const more = lines.length - CONFIG_FINDINGS_SHOWN;
  if (more <= 0) return lines;
  return [...lines.slice(0, CONFIG_FINDINGS_SHOWN), `${path}: ${more} more: floodwall check names them all`];
}
