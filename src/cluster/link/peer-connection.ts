/** One authenticated connection to a peer: messages both ways, and when the last one arrived. Does not know who the peer is. */
import type { TLSSocket } from "node:tls";
import { messageOf } from "../../system/error-message.ts";
import { FrameError, FrameReader, frameOf, type Message } from "./frames.ts";

/** Bytes that wait to be sent to one peer; over it the connection is closed, and what must arrive is sent again. */
const SEND_BYTES_MAX = 16 * 1024 * 1024;
/** Maximum to read of one peer until allowMore() is called; the rest waits at its end of the connection. */
export const READ_MAX = { bytes: 8 * 1024 * 1024, messages: 1000 } as const;

/** `closed` comes last, and once; its cause is for people. */
interface PeerConnectionObserver {
  readonly received: (message: Message) => void;
  readonly closed: (cause: string) => void;
}

export type SendOutcome = "sent" | "too_large" | "closed";

export class PeerConnection {
  readonly #socket: TLSSocket;
  readonly #reader = new FrameReader();
  readonly #observer: PeerConnectionObserver;
  #isClosed = false;
  #bytes = 0;
  #messages = 0;

  constructor(socket: TLSSocket, observer: PeerConnectionObserver) {
    this.#socket = socket;
    this.#observer = observer;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", (cause) => this.close(messageOf(cause)));
    socket.on("close", () => this.close("the connection was closed"));
    socket.setNoDelay(true);
  }

  send(message: Message): SendOutcome {
    if (this.#isClosed) return "closed";
    const frame = frameOf(message);
    if (frame === null) return "too_large";
    if (this.#socket.writableLength + frame.length > SEND_BYTES_MAX) {
      this.close(`it takes messages too slowly: ${SEND_BYTES_MAX} bytes wait`);
      return "closed";
    }
    this.#socket.write(frame);
    return "sent";
  }

  /** Call this twice a second. */
  allowMore(): void {
    this.#bytes = 0;
    this.#messages = 0;
    this.#socket.resume();
  }

  close(cause: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroy();
    this.#observer.closed(cause);
  }

  #read(chunk: Buffer): void {
    this.#bytes += chunk.length;
    try {
      for (const message of this.#reader.read(chunk)) {
        if (this.#isClosed) return;
        this.#messages++;
        this.#observer.received(message);
      }
      if (this.#bytes > READ_MAX.bytes || this.#messages > READ_MAX.messages) this.#socket.pause();
    } catch (cause) {
      if (!(cause instanceof FrameError)) throw cause;
      this.close(`it sent ${cause.message}`);
    }
  }
}
