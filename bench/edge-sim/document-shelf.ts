/**
 * Documents as they were read, for all nodes of a process: those that are told the same read it once. A node takes what
 * stands here only when its own bytes are the same, so that each has in truth received what it holds.
 */
import { type NodeDocument, readDocument } from "./zone-document.ts";

interface Shelved {
  readonly bytes: Buffer;
  readonly document: NodeDocument;
}

/** Scopes of a fleet, with the revision before. */
const SHELVED_MAX = 512;

export class DocumentShelf {
  readonly #byTag = new Map<string, Shelved>();

  /** Throws DocumentProblem. */
  read(etag: string | null, bytes: Buffer): NodeDocument {
    const key = etag ?? "";
    const known = this.#byTag.get(key);
    if (known?.bytes.equals(bytes) === true) return known.document;
    const document = readDocument(bytes.toString("utf8"));
    this.#byTag.delete(key);
    this.#byTag.set(key, { bytes, document });
    const [oldest] = this.#byTag.keys();
    if (this.#byTag.size > SHELVED_MAX && oldest !== undefined) this.#byTag.delete(oldest);
    return document;
  }
}
