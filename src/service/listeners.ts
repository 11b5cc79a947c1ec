/** Those who want to hear of something that happened: told in turn, each whether or not one before it failed. */
export class Listeners<Event> {
  readonly #listeners: ((event: Event) => void)[] = [];
  readonly #onFault: (cause: unknown) => void;

  /** @param onFault a listener threw: a bug of that listener, of which nobody else shall know. */
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
