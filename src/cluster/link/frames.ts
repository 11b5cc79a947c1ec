/** Messages on the connection of two brains: each a length (4 bytes, big-endian), then JSON of that many bytes. */
import { MESSAGE_BYTES_MAX } from "../chunks.ts";

const LENGTH_BYTES = 4;

export interface Message {
  readonly kind: string;
  readonly body: unknown;
}

/** The peer does not speak this protocol. The connection is of no use any more. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

/** null: larger than MESSAGE_BYTES_MAX. */
export function frameOf({ kind, body }: Message): Buffer | null {
  const text = JSON.stringify({ kind, body });
  const length = Buffer.byteLength(text);
  if (length > MESSAGE_BYTES_MAX) return null;
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + length);
  frame.writeUInt32BE(length, 0);
  frame.write(text, LENGTH_BYTES);
  return frame;
}

/** Puts the bytes of one connection together to messages. Keeps less than one frame. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Length of the frame that is being read; null: it has not arrived. */
  #length: number | null = null;

  /** Throws FrameError; then nothing more can be read. */
  *read(chunk: Buffer): Generator<Message> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (;;) {
      this.#length ??= this.#bytes < LENGTH_BYTES ? null : this.#nextLength();
      if (this.#length === null || this.#bytes < this.#length) return;
      const frame = this.#take(this.#length);
      this.#length = null;
      yield messageOf(frame);
    }
  }

  #nextLength(): number {
    const length = this.#take(LENGTH_BYTES).readUInt32BE(0);
    if (length <= MESSAGE_BYTES_MAX) return length;
    throw new FrameError(`a message of ${length} bytes, more than ${MESSAGE_BYTES_MAX}`);
  }

  #take(length: number): Buffer {
    const all = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#bytes = all.length - length;
    this.#chunks = this.#bytes === 0 ? [] : [all.subarray(length)];
    return all.subarray(0, length);
  }
}

function messageOf(frame: Buffer): Message {
  let value: unknown;
  try {
    value = JSON.parse(frame.toString("utf8"));
  } catch {
    throw new FrameError("a message that is no JSON");
  }
  if (typeof value === "object" && value !== null && "kind" in value && typeof value.kind === "string") {
    return { kind: value.kind, body: "body" in value ? value.body : null };
  }
  throw new FrameError("a message without a kind");
}
