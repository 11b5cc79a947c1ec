/**
 * Reads a configuration file off the event loop: a file at its bounds takes seconds. One thread for each reading, which
 * ends with it, so that nothing is kept for what happens once a month.
 */
import type { CheckedConfig } from "./config/check.ts";
import { unpackConfig } from "./config/packed-config.ts";
import type { ConfigMessage } from "./config-thread.ts";
import { CONFIG_FINDINGS_TOLD, CONFIG_READ_MS } from "./limits.ts";
import { environmentNow } from "./system/environment.ts";
import { nextTurn, type Timers } from "./system/timers.ts";

const THREAD = new URL("./config-thread.ts", import.meta.url);

export class ConfigReader {
  readonly #timers: Timers;
  readonly #thread: URL;
  #abort: (why: string) => void = () => {};

  constructor(timers: Timers, thread: URL = THREAD) {
    this.#timers = timers;
    this.#thread = thread;
  }

  /** One at a time. Never rejects: a thread that breaks, or takes too long, is a problem like any other. */
  async read(path: string): Promise<CheckedConfig> {
    const message = await this.#ask(path);
    if (message.kind === "invalid") return { kind: "invalid", problems: linesTold(path, message.problems) };
    const config = await unpackConfig(message.packed, nextTurn);
    return { kind: "valid", config, warnings: linesTold(path, message.warnings) };
  }

  /** A reading under way ends at once, with this as its problem. */
  abort(why: string): void {
    this.#abort(why);
  }

  #ask(path: string): Promise<ConfigMessage> {
    return new Promise((resolve) => {
      const worker = new Worker(this.#thread, { env: environmentNow() });
      const finish = (message: ConfigMessage) => {
        cancel();
        this.#abort = () => {};
        // Whatever it does: it may hang in a read of something that is no file.
        worker.terminate();
        resolve(message);
      };
      const give = (why: string) => finish({ kind: "invalid", problems: [`${path}: not read: ${why}`] });
      const cancel = this.#timers.after(CONFIG_READ_MS, () =>
        give(`this takes longer than ${CONFIG_READ_MS / 1000} s`),
      );
      this.#abort = give;
      worker.onmessage = ({ data }: MessageEvent<ConfigMessage>) => finish(data);
      worker.onerror = ({ message }) => give(`the thread that reads it failed: ${message}`);
      worker.addEventListener("close", () => give("the thread that reads it ended"));
      worker.postMessage(path);
    });
  }
}

/** The first ones, and how many more there are. */
export function linesTold(path: string, lines: readonly string[]): readonly string[] {
  const more = lines.length - CONFIG_FINDINGS_TOLD;
  if (more <= 0) return lines;
  return [...lines.slice(0, CONFIG_FINDINGS_TOLD), `${path}: ${more} more: floodwall check names them all`];
}
