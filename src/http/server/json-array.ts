/** A JSON array that is written while its elements come, so that a large one never exists as one string or one call. */

/** Elements that become text at a time: one call for many is faster than one for each. */
const CHUNK_ELEMENTS = 64;

const utf8 = new TextEncoder();

export class JsonArray {
  readonly #parts: Uint8Array<ArrayBuffer>[] = [utf8.encode("[")];
  #chunk: object[] = [];

  add(element: object): void {
    this.#chunk.push(element);
    if (this.#chunk.length === CHUNK_ELEMENTS) this.#write();
  }

  /** An element that is JSON already: one that is long, or must stay as it is. */
  addText(element: string): void {
    if (this.#chunk.length > 0) this.#write();
    this.#push(element);
  }

  /** With its brackets. Nothing can be added after. */
  parts(): readonly Uint8Array<ArrayBuffer>[] {
    if (this.#chunk.length > 0) this.#write();
    return [...this.#parts, utf8.encode("]")];
  }

  #write(): void {
    this.#push(JSON.stringify(this.#chunk).slice(1, -1));
    this.#chunk = [];
  }

  #push(elements: string): void {
    this.#parts.push(utf8.encode(this.#parts.length === 1 ? elements : `,${elements}`));
  }
}
