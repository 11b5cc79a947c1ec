/** Writes of a whole state, one after the other: callers that come before a write begins share it. */
export class JoinedWrites {
  readonly #write: () => Promise<void>;
  /** The write that has not begun; null: there is none. */
  #waiting: Promise<void> | null = null;
  #written: Promise<void> = Promise.resolve();

  constructor(write: () => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when the state as it is now is written. */
  now(): Promise<void> {
    this.#waiting ??= this.#written.then(() => {
      this.#waiting = null;
      const write = this.#write();
      this.#written = write.catch(() => {});
      return write;
    });
    return this.#waiting;
  }
}
