/** A part that is called by parts that are built before it. Where parts do not call in a circle, none is needed. */
export class Late<Value extends object> {
  readonly #name: string;
  #value: Value | null = null;

  constructor(name: string) {
    this.#name = name;
  }

  /** Once, as soon as it is built. */
  bind(value: Value): void {
    if (this.#value !== null) throw new Error(`${this.#name}: bound twice`);
    this.#value = value;
  }

  /** Throws before it is bound: who calls it then calls too early. */
  get(): Value {
    if (this.#value === null) throw new Error(`${this.#name}: called before it is built`);
    return this.#value;
  }
}
