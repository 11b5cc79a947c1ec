/**
 * Keeps a node's last document on disk, readable only by its owner, since it has signing keys. A node that starts while
 * the service is away uses it.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface CachedDocument {
  readonly etag: string | null;
  readonly text: string;
}

export class DocumentCache {
  readonly path: string;
  readonly #directory: string;
  #last: Promise<void> = Promise.resolve();

  constructor(directory: string, node: string) {
    this.#directory = directory;
    this.path = join(directory, `${encodeURIComponent(node)}.json`);
  }

  /** null: there is no usable document. */
  async load(): Promise<CachedDocument | null> {
    try {
      const { etag, text } = JSON.parse(await readFile(this.path, "utf8")) as Record<string, unknown>;
      return typeof text === "string" && (typeof etag === "string" || etag === null) ? { etag, text } : null;
    } catch {
      return null;
    }
  }

  /** Writes one document after the other. Rejects if it cannot be saved. */
  save(document: CachedDocument): Promise<void> {
    this.#last = this.#last.catch(() => {}).then(() => this.#replace(JSON.stringify(document)));
    return this.#last;
  }

  /** Resolves when no document waits to be written. */
  async written(): Promise<void> {
    await this.#last.catch(() => {});
  }

  async #replace(text: string): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await writeFile(`${this.path}.new`, text, { mode: 0o600 });
    await rename(`${this.path}.new`, this.path);
  }
}
