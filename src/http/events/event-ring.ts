/** The latest events, for callers that reconnect: bounded in bytes, the oldest events are removed first. */

export interface RingEvent {
  /** Greater than the id of every earlier event. */
  readonly id: number;
  /** Owner of the address; null: visible to unscoped callers only. */
  readonly tenant: string | null;
  /** The bytes to send to unscoped callers. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** To callers of the tenant; the same object where nothing is kept from them. */
  readonly tenantBytes: Uint8Array<ArrayBuffer>;
}

export class EventRing {
  readonly #maxBytes: number;
  #events: RingEvent[] = [];
  #bytes = 0;
  /** All events after this id are still here. */
  #completeSince: number;

  constructor(maxBytes: number, completeSince: number) {
    this.#maxBytes = maxBytes;
    this.#completeSince = completeSince;
  }

  add(event: RingEvent): void {
    this.#events.push(event);
    this.#bytes += sizeOf(event);
    if (this.#bytes <= this.#maxBytes) return;
    // Shrinks to three quarters, so that the next events need no removal.
    let left = 0;
    while (this.#bytes > this.#maxBytes * 0.75) {
      const oldest = this.#events[left++] as RingEvent;
      this.#bytes -= sizeOf(oldest);
      this.#completeSince = oldest.id;
    }
    this.#events = this.#events.slice(left);
  }

  /** null: some of these events were removed already. */
  after(id: number): readonly RingEvent[] | null {
    if (id < this.#completeSince) return null;
    return this.#events.slice(this.#events.findLastIndex((event) => event.id <= id) + 1);
  }

  /** Removes all events up to this id. */
  forget(upTo: number): void {
    this.#events = [];
    this.#bytes = 0;
    this.#completeSince = upTo;
  }
}

function sizeOf({ bytes, tenantBytes }: RingEvent): number {
  return bytes === tenantBytes ? bytes.length : bytes.length + tenantBytes.length;
}
