/**
 * Parsed documents shared by all nodes of a process, so that nodes with the same document parse it once. A node uses a
 * parsed document only if its own bytes are the same, so that each node has really received its document.
 */
import { gunzipSync } from "node:zlib";
import type { PolledDocument } from "./edge-channel.ts";
import { type NodeDocument, readDocument } from "./zone-document.ts";

interface Shelved {
  /** As received. */
  readonly bytes: Buffer;
  readonly text: string;
  readonly document: NodeDocument;
}

/** Enough for all scopes of a fleet and the previous revision. */
const SHELVED_MAX = 512;

export class DocumentShelf {
  readonly #byTag = new Map<string, Shelved>();

  /** Throws DocumentProblem, or the error of unpacking. */
  read({ etag, body, isGzipped }: PolledDocument): Omit<Shelved, "bytes"> {
    const key = etag ?? "";
    const known = this.#byTag.get(key);
    if (known?.bytes.equals(body) === true) return known;
    const text = (isGzipped ? gunzipSync(body) : body).toString("utf8");
    const shelved = { bytes: body, text, document: readDocument(text) };
    this.#byTag.delete(key);
    this.#byTag.set(key, shelved);
    const [oldest] = this.#byTag.keys();
    if (this.#byTag.size > SHELVED_MAX && oldest !== undefined) this.#byTag.delete(oldest);
    return shelved;
  }
}
