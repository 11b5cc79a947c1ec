/** Answers `{name: [...]}` with the items that a caller may see. */
import { JsonArray } from "./server/json-array.ts";
import type { Reader } from "./table-pass.ts";

export class ListReader<Item> implements Reader<Item> {
  readonly #name: string;
  readonly #toWire: (item: Item) => object | null;
  readonly #array = new JsonArray();

  /** @param toWire returns null for items that the caller may not see. */
  constructor(name: string, toWire: (item: Item) => object | null) {
    this.#name = name;
    this.#toWire = toWire;
  }

  see(item: Item): void {
    const wire = this.#toWire(item);
    if (wire !== null) this.#array.add(wire);
  }

  answer(): Blob {
    return new Blob([`{"${this.#name}":`, ...this.#array.parts(), "}"]);
  }
}
