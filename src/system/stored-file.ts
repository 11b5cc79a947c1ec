/**
 * A file that is replaced as a whole, without blocking the event loop: a reader, also after a crash, finds the old
 * content or the new one. Does not know what the content is.
 */
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

const MODE = 0o600;

export class StoredFile {
  readonly path: string;
  #newest: string | Uint8Array = "";
  /** The write whose turn has not come; null: there is none. */
  #waiting: Promise<void> | null = null;
  #settled: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Resolves when this content is on disk, or a newer one that was given while this one waited. Rejects as `replaceFile`.
   */
  replace(content: string | Uint8Array): Promise<void> {
    this.#newest = content;
    if (this.#waiting === null) {
      this.#waiting = inTurn(() => {
        this.#waiting = null;
        const content = this.#newest;
        return replaceFile(this.path, (file) => file.writeFile(content));
      });
      this.#settled = this.#waiting.catch(() => {});
    }
    return this.#waiting;
  }

  /** Resolves when nothing waits to be written. */
  settled(): Promise<void> {
    return this.#settled;
  }
}

let lastTurn: Promise<void> = Promise.resolve();

/**
 * Runs one `write` of this process after the other. A write on a disk that hangs holds a thread of the pool of
 * asynchronous calls, of which there are as few as two; with all of them held, no name would be resolved any more.
 */
export function inTurn(write: () => Promise<void>): Promise<void> {
  const turn = lastTurn.then(write);
  lastTurn = turn.catch(() => {});
  return turn;
}

/**
 * Replaces a file of this path by the one that `write` fills. Rejects if it cannot; it has its old content then, or the
 * new one, which a crash may take back, if only the folder cannot be synced.
 */
export async function replaceFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const unfinished = `${path}.new`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // An existing file would keep its mode.
  await rm(unfinished, { force: true });
  const file = await open(unfinished, "wx", MODE);
  try {
    await write(file);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
  // Makes the rename durable.
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** To read it; null: there is none. */
export async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, "r");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw cause;
  }
}
