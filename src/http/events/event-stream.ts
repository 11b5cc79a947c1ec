/**
 * One caller's stream of server-sent events: unread events wait in a bounded queue; when it is full, the stream ends.
 */

/** Bytes of events that a reader has not received yet. */
export const EVENT_QUEUE_BYTES = 8 * 1024 * 1024;

export type StreamEnd = "left" | "slow" | "refused" | "stopped";

export class EventStream {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #onEnd: (reason: StreamEnd) => void;
  /** null: the stream has ended. */
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;

  /** @param onEnd called once. */
  constructor(onEnd: (reason: StreamEnd) => void) {
    this.#onEnd = onEnd;
    this.body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => this.#end("left"),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: EVENT_QUEUE_BYTES }),
    );
  }

  /** The bytes may be in several queues, so they must not be modified afterwards. */
  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#controller === null) return;
    if ((this.#controller.desiredSize ?? 0) <= 0) this.end("slow");
    else this.#controller.enqueue(bytes);
  }

  /** Events in the queue are still sent. */
  end(reason: Exclude<StreamEnd, "left">): void {
    const controller = this.#controller;
    this.#end(reason);
    controller?.close();
  }

  #end(reason: StreamEnd): void {
    if (this.#controller === null) return;
    this.#controller = null;
    this.#onEnd(reason);
  }
}
