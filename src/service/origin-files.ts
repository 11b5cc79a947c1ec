/**
 * The files of address origins as the service has them: a start and a reload do not depend on them, and one that cannot be
 * used is tried again. Without it the names of its autonomous systems or countries are missing, and nothing else.
 */
import type { OriginOf } from "../detection/attack/sample-origins.ts";
import type { OriginFiles } from "../geo/origin-config.ts";
import { Origins } from "../geo/origins.ts";
import { messageOf } from "../system/error-message.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import type { FileFaults } from "./file-faults.ts";

interface OriginWatchOptions {
  readonly timers: Pick<Timers, "every">;
  readonly faults: Pick<FileFaults, "replace">;
}

const RETRY_MS = 60_000;
const EFFECT = "its content is missing in new samples, or as it was when the file was last good";

export class OriginWatch {
  readonly #options: OriginWatchOptions;
  #current: Origins;
  #prepared: Origins | null = null;
  #cancel: Cancel = () => {};

  private constructor(options: OriginWatchOptions, current: Origins) {
    this.#options = options;
    this.#current = current;
  }

  static async open(files: OriginFiles, options: OriginWatchOptions): Promise<OriginWatch> {
    const made = new OriginWatch(options, await Origins.open(files, null));
    made.#report();
    return made;
  }

  get originOf(): OriginOf | null {
    return this.#current.originOf;
  }

  start(): void {
    this.#cancel = this.#options.timers.every(RETRY_MS, () => void this.retry());
  }

  stop(): void {
    this.#cancel();
  }

  /** Reads the files of a new configuration; nothing changes until apply(). Rejects with OriginFileError if a file that is newly named cannot be used. */
  async prepare(files: OriginFiles): Promise<OriginOf | null> {
    this.#prepared = await Origins.open(files, this.#current);
    return this.#prepared.originOf;
  }

  apply(): void {
    if (this.#prepared === null) return;
    this.#current = this.#prepared;
    this.#prepared = null;
    this.#report();
  }

  /** Never rejects. */
  async retry(): Promise<void> {
    const current = this.#current;
    if (current.faults.length === 0) return;
    await current.retry();
    if (current === this.#current) this.#report();
  }

  #report(): void {
    this.#options.faults.replace(
      "origins",
      this.#current.faults.map(({ key, cause }) => ({ key, error: messageOf(cause), effect: EFFECT })),
    );
  }
}
