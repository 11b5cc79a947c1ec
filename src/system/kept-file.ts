/**
 * The last good content of a file of others, kept in `state_dir`, so that a start does not depend on that file. Knows its
 * source and its checksum, not what it means.
 */
import { readFileSync, statSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { StoredFile } from "./stored-file.ts";

const LINE_FEED = 0x0a;
const VERSION = 1;
/** Bound of the line before the content: a source has a path and the keys beside it. */
const HEADER_BYTES_MAX = 256 * 1024;

interface Header {
  readonly kept: typeof VERSION;
  readonly source: string;
  readonly sha256: string;
}

/** The files of one kind, each by a name that may be the name of a file. */
export class KeptFiles {
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #files = new Map<string, StoredFile>();

  /** @param bytesMax of a content: a larger one is taken for damaged. */
  constructor(stateDir: string, kind: string, bytesMax: number) {
    this.#folder = join(stateDir, "kept", kind);
    this.#bytesMax = bytesMax;
  }

  /** @param source what the content is of: it is not found under another one. Rejects if it cannot be written. */
  keep(name: string, source: string, content: Uint8Array): Promise<void> {
    const header: Header = { kept: VERSION, source, sha256: sha256(content) };
    const line = Buffer.from(`${JSON.stringify(header)}\n`);
    return this.#file(name).replace(Buffer.concat([line, content]));
  }

  /** null: nothing is kept of this source, or it is damaged or unreadable. Blocks. */
  read(name: string, source: string): Buffer | null {
    try {
      const { path } = this.#file(name);
      const stats = statSync(path);
      if (!stats.isFile() || stats.size > this.#bytesMax + HEADER_BYTES_MAX) return null;
      const bytes = readFileSync(path);
      const end = bytes.indexOf(LINE_FEED);
      const header = JSON.parse(bytes.toString("utf8", 0, end)) as Partial<Header>;
      const content = bytes.subarray(end + 1);
      const isGood = header.kept === VERSION && header.source === source && header.sha256 === sha256(content);
      return isGood ? content : null;
    } catch {
      return null;
    }
  }

  /** Removes all others, so that the disk does not fill. Rejects if it cannot. */
  async retain(names: readonly string[]): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // One may be being written.
    const wanted = new Set(names.flatMap((name) => [fileOf(name), `${fileOf(name)}.new`]));
    for (const name of this.#files.keys()) if (!wanted.has(fileOf(name))) this.#files.delete(name);
    for (const file of await readdir(this.#folder)) {
      if (!wanted.has(file)) await rm(join(this.#folder, file), { force: true, recursive: true });
    }
  }

  #file(name: string): StoredFile {
    let file = this.#files.get(name);
    if (file === undefined) {
      file = new StoredFile(join(this.#folder, fileOf(name)));
      this.#files.set(name, file);
    }
    return file;
  }
}

/** So that no name is that of another one while it is written. */
function fileOf(name: string): string {
  return `${name}.kept`;
}

function sha256(content: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(content).digest("hex");
}
