/** The latest events, for callers who were away for a moment: bounded in bytes, the oldest leave first. */

export interface RingEvent {
  /** Greater than that of any event before it. */
  readonly id: number;
  /** Whose it is; null: of unscoped callers alone. */
  readonly tenant: string | null;
  /** As it is sent. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export class EventRing {
  readonly #maxBytes: number;
  #events: RingEvent[] = [];
  #bytes = 0;
  /** Of what was after this id all is here. */
  #completeSince: number;

  constructor(maxBytes: number, completeSince: number) {
    this.#maxBytes = maxBytes;
    this.#completeSince = completeSince;
  }

  add(event: RingEvent): void {
    this.#events.push(event);
    this.#bytes += event.bytes.length;
    if (this.#bytes <= this.#maxBytes) return;
    // Down to three quarters, so that the next few cost nothing.
    let left = 0;
    while (this.#bytes > this.#maxBytes * 0.75) {
      const oldest = this.#events[left++] as RingEvent;
      this.#bytes -= oldest.bytes.length;
      this.#completeSince = oldest.id;
    }
    this.#events = this.#events.slice(left);
  }

  /** null: some of them are not here any more. */
  after(id: number): readonly RingEvent[] | null {
    if (id < this.#completeSince) return null;
    return this.#events.slice(this.#events.findLastIndex((event) => event.id <= id) + 1);
  }

  /** Nothing up to this id can be given again. */
  forget(upTo: number): void {
    this.#events = [];
    this.#bytes = 0;
    this.#completeSince = upTo;
  }
}
