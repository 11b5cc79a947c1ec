/** Listeners for one kind of event. They are called in order; a listener that fails does not stop the others. */
export class Listeners<Event> {
  readonly #listeners: ((event: Event) => void)[] = [];
  readonly #onFault: (cause: unknown) => void;

  /** @param onFault a listener threw: a bug of that listener, which must not affect its caller. */
  constructor(onFault: (cause: unknown) => void) {
    this.#onFault = onFault;
  }

  add(listener: (event: Event) => void): void {
    this.#listeners.push(listener);
  }

  emit(event: Event): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (cause) {
        this.#onFault(cause);
      }
    }
  }
}
