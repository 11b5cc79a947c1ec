/** One caller's stream of server-sent events: what he has not read yet waits in a bounded queue, or he is cut off. */
import { EVENT_QUEUE_BYTES } from "../../limits.ts";

export type StreamEnd = "left" | "slow" | "refused" | "stopped";

export class EventStream {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #onEnd: (reason: StreamEnd) => void;
  /** null: it is over. */
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

  /** The bytes may wait in many queues: nobody may write to them any more. */
  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#controller === null) return;
    if ((this.#controller.desiredSize ?? 0) <= 0) this.end("slow");
    else this.#controller.enqueue(bytes);
  }

  /** What waits in the queue is still sent. */
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
