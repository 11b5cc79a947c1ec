/**
 * Stores the last rule document on disk, so that a node can start without its controller. The file is replaced as a
 * whole: a reader finds the old or the new one. An unusable file is reported and ignored.
 */
import { dirname, join } from "node:path";
import { makePrivateFolder } from "../../system/private-folder.ts";
import { openIfThere, StoredFile } from "../../system/stored-file.ts";
import { RULE_DOCUMENT_BYTES_MAX } from "./rule-document.ts";

export interface SavedDocument {
  readonly text: string;
  readonly etag: string | null;
  /** Time by this node's wall clock, and by how much the service's was ahead of it. */
  readonly savedAtMs: number;
  readonly aheadMs: number;
  /** The node and controller of the document; one of another node or controller is not applied. */
  readonly owner: string;
}

export const DOCUMENT_FILE = "scrub-rules.json";
const FORMAT = 1;
/** The text inside is escaped once more, in JSON. */
const FILE_BYTES_MAX = 2 * RULE_DOCUMENT_BYTES_MAX;

export class DocumentFile {
  readonly path: string;
  readonly #file: StoredFile;
  readonly #onFault: (cause: unknown) => void;

  /**
   * @param brain counts the brains of the configuration from 0: each has a file of its own.
   * @param onFault called when a document could not be saved; later ones are saved if possible.
   */
  constructor(stateDir: string, brain: number, onFault: (cause: unknown) => void) {
    this.path = join(stateDir, brain === 0 ? DOCUMENT_FILE : `scrub-rules-${brain + 1}.json`);
    this.#file = new StoredFile(this.path);
    this.#onFault = onFault;
  }

  /** null: there is none. Throws an Error if it is unusable. */
  async load(): Promise<SavedDocument | null> {
    const text = await readBounded(this.path);
    if (text === null) return null;
    const file = JSON.parse(text) as Partial<Record<keyof SavedDocument | "format", unknown>> | null;
    if (file?.format !== FORMAT) throw new Error(`${this.path} has an unknown format`);
    const { text: document, etag, savedAtMs, aheadMs, owner } = file;
    const isWhole =
      typeof document === "string" &&
      (typeof etag === "string" || etag === null) &&
      Number.isFinite(savedAtMs) &&
      Number.isFinite(aheadMs) &&
      typeof owner === "string";
    if (!isWhole) throw new Error(`${this.path} lacks a part`);
    return { text: document, etag, savedAtMs: savedAtMs as number, aheadMs: aheadMs as number, owner };
  }

  /** Returns at once. During a write, only the newest document waits. */
  save(document: SavedDocument): void {
    this.#replace(JSON.stringify({ format: FORMAT, ...document })).catch(this.#onFault);
  }

  /** Resolves when nothing waits to be written. */
  written(): Promise<void> {
    return this.#file.settled();
  }

  async #replace(text: string): Promise<void> {
    makePrivateFolder(dirname(this.path));
    await this.#file.replace(text);
  }
}

async function readBounded(path: string): Promise<string | null> {
  const file = await openIfThere(path);
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    if (size > FILE_BYTES_MAX) throw new Error(`${path} has more than ${FILE_BYTES_MAX} bytes`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
