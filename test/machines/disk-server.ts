/**
 * Serves a disk to a virtual machine by the NBD protocol, fixed newstyle with simple replies, on a socket of the file
 * system: reads, writes and flushes, one machine at a time.
 * Source: https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md
 */
import { createServer, type Server, type Socket } from "node:net";
import type { VolatileDisk } from "./volatile-disk.ts";

const GREETING = Buffer.from("NBDMAGICIHAVEOPT");
const OPTION_REPLY_MAGIC = 0x3e889045565a9n;
const REQUEST_MAGIC = 0x25609513;
const REPLY_MAGIC = 0x67446698;
/** The handshake: fixed newstyle, without 124 bytes of zeroes. */
const HANDSHAKE_FLAGS = 0b11;
const OPTION_GO = 7;
const REPLY = { ack: 1, info: 3, unsupported: 0x8000_0001 };
const INFO_EXPORT = 0;
/** It has flags, and takes flushes. No forced unit access: the client then flushes instead. */
const TRANSMISSION_FLAGS = 0b101;
const COMMAND = { read: 0, write: 1, disconnect: 2, flush: 3 };
/** EINVAL, as the protocol numbers it. */
const INVALID = 22;

export class DiskServer {
  readonly #disk: VolatileDisk;
  readonly #server: Server;
  #connection: Promise<void> = Promise.resolve();
  #hold: { readonly unflushed: number; readonly isHeld: () => void } | null = null;

  /** @param path of the socket, which must not be there yet */
  constructor(disk: VolatileDisk, path: string) {
    this.#disk = disk;
    this.#server = createServer((socket) => {
      this.#connection = this.#serve(socket).catch((cause: unknown) => {
        // A machine without power ends in the middle of a message.
        if (!(cause instanceof Disconnected)) throw cause;
      });
    }).listen(path);
  }

  /**
   * Resolves when this number of writes wait for a flush. From then on the machine gets no more answers: a cut falls
   * between a write and its flush, which a random moment rarely does. The next machine gets answers again.
   */
  holdAt(unflushed: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#hold = { unflushed, isHeld: resolve };
    return promise;
  }

  /** Resolves when all that the machine sent before its end has been carried out. */
  async disconnected(): Promise<void> {
    await this.#connection;
  }

  close(): void {
    this.#server.close();
  }

  async #serve(socket: Socket): Promise<void> {
    const incoming = new ByteReader(socket);
    await this.#negotiate(socket, incoming);
    this.#hold = null;
    while (await this.#answer(socket, incoming)) if (this.#isHeld()) return;
    socket.end();
  }

  #isHeld(): boolean {
    const hold = this.#hold;
    if (hold === null || this.#disk.unflushed < hold.unflushed) return false;
    hold.isHeld();
    return true;
  }

  async #negotiate(socket: Socket, incoming: ByteReader): Promise<void> {
    const flags = Buffer.alloc(2);
    flags.writeUInt16BE(HANDSHAKE_FLAGS);
    socket.write(Buffer.concat([GREETING, flags]));
    await incoming.take(4);
    for (;;) {
      // Eight bytes of magic, the option, the length of its data.
      const header = await incoming.take(16);
      const option = header.readUInt32BE(8);
      await incoming.take(header.readUInt32BE(12));
      if (option !== OPTION_GO) {
        socket.write(optionReply(option, REPLY.unsupported));
        continue;
      }
      const info = Buffer.alloc(12);
      info.writeUInt16BE(INFO_EXPORT);
      info.writeBigUInt64BE(BigInt(this.#disk.size), 2);
      info.writeUInt16BE(TRANSMISSION_FLAGS, 10);
      socket.write(Buffer.concat([optionReply(option, REPLY.info, info), optionReply(option, REPLY.ack)]));
      return;
    }
  }

  /** Carries out one request. Returns whether more may come. */
  async #answer(socket: Socket, incoming: ByteReader): Promise<boolean> {
    const request = await incoming.take(28);
    if (request.readUInt32BE(0) !== REQUEST_MAGIC) throw new Error("the machine sent no NBD request");
    const command = request.readUInt16BE(6);
    const offset = Number(request.readBigUInt64BE(16));
    const length = request.readUInt32BE(24);
    const data = command === COMMAND.write ? await incoming.take(length) : null;
    if (command === COMMAND.disconnect) return false;
    const isInvalid = command > COMMAND.flush || offset + length > this.#disk.size;
    if (!isInvalid && data !== null) this.#disk.write(offset, data);
    if (!isInvalid && command === COMMAND.flush) this.#disk.flush();
    const reply = Buffer.alloc(16);
    reply.writeUInt32BE(REPLY_MAGIC);
    reply.writeUInt32BE(isInvalid ? INVALID : 0, 4);
    request.copy(reply, 8, 8, 16);
    const isRead = !isInvalid && command === COMMAND.read;
    socket.write(isRead ? Buffer.concat([reply, this.#disk.read(offset, length)]) : reply);
    return true;
  }
}

function optionReply(option: number, type: number, data = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(20);
  header.writeBigUInt64BE(OPTION_REPLY_MAGIC);
  header.writeUInt32BE(option, 8);
  header.writeUInt32BE(type, 12);
  header.writeUInt32BE(data.length, 16);
  return Buffer.concat([header, data]);
}

/** The peer has closed the connection. */
class Disconnected extends Error {}

class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** Resolves with that number of bytes. Rejects with Disconnected. */
  async take(length: number): Promise<Buffer> {
    const parts = [this.#rest];
    for (let present = this.#rest.length; present < length; ) {
      const { value, done } = await this.#chunks.next().catch((cause: unknown) => {
        throw new Disconnected(String(cause));
      });
      if (done === true) throw new Disconnected();
      parts.push(value);
      present += value.length;
    }
    const bytes = parts.length === 1 ? this.#rest : Buffer.concat(parts);
    this.#rest = bytes.subarray(length);
    return bytes.subarray(0, length);
  }
}
