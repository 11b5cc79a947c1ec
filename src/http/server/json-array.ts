/**
 * A JSON array that is serialized while its elements arrive, so that a large one never exists as one string or in one
 * call.
 */

/** Elements that are serialized together: one call for several is faster. */
const CHUNK_ELEMENTS = 64;

const utf8 = new TextEncoder();

export class JsonArray {
  readonly #parts: Uint8Array<ArrayBuffer>[] = [utf8.encode("[")];
  #chunk: object[] = [];

  add(element: object): void {
    this.#chunk.push(element);
    if (this.#chunk.length === CHUNK_ELEMENTS) this.#write();
  }

  /** Adds a large element, serialized by itself. */
  addNow(element: object): void {
    if (this.#chunk.length > 0) this.#write();
    this.#push(JSON.stringify(element));
  }

  /** Adds an element that is not empty, with one more member whose value is JSON text that must not change. */
  addWith(element: object, name: string, value: string): void {
    if (this.#chunk.length > 0) this.#write();
    this.#push(`${JSON.stringify(element).slice(0, -1)},${JSON.stringify(name)}:${value}}`);
  }

  /** With brackets. Nothing can be added afterwards. */
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
