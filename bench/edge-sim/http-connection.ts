/**
 * One persistent plain HTTP connection to the service, with one request at a time: it is cheap enough for a thousand
 * nodes in one process, and the time of each answer's last byte is known.
 */
import type { Socket } from "bun";
import type { Timers } from "../../src/system/timers.ts";

export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Until the last byte of the answer. */
  readonly deadlineMs: number;
}

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** There was no answer. */
export class Unreachable extends Error {}

const HEAD_BYTES_MAX = 16 * 1024;

export class HttpConnection {
  readonly #url: URL;
  readonly #timers: Pick<Timers, "after">;
  #socket: Socket | null = null;
  #unsent = Buffer.alloc(0);
  #exchange: { readonly reader: AnswerReader; readonly answer: PromiseWithResolvers<HttpAnswer> } | null = null;
  #isClosed = false;

  constructor(url: URL, timers: Pick<Timers, "after">) {
    if (url.protocol !== "http:") throw new Error(`${url.href}: this speaks plain HTTP alone`);
    this.#url = url;
    this.#timers = timers;
  }

  /** Throws Unreachable. */
  async ask(request: HttpRequest): Promise<HttpAnswer> {
    if (this.#exchange !== null) throw new Error("a connection carries one request at a time");
    const exchange = { reader: new AnswerReader(), answer: Promise.withResolvers<HttpAnswer>() };
    this.#exchange = exchange;
    const cancel = this.#timers.after(request.deadlineMs, () => this.#fail("no answer in time"));
    try {
      const socket = this.#socket ?? (await Promise.race([this.#connect(), exchange.answer.promise.then(neverFirst)]));
      this.#unsent = Buffer.from(this.#text(request));
      this.#send(socket);
      return await exchange.answer.promise;
    } finally {
      cancel();
      if (this.#exchange === exchange) this.#exchange = null;
    }
  }

  /** A request in progress ends as unreachable, and so do all later ones. */
  close(): void {
    this.#isClosed = true;
    this.#fail("this connection was closed");
  }

  async #connect(): Promise<Socket> {
    if (this.#isClosed) throw new Unreachable("this connection was closed");
    const gone = (socket: Socket) => {
      if (this.#socket === socket) this.#fail("the connection ended");
    };
    const socket = await Bun.connect({
      hostname: this.#url.hostname,
      port: Number(this.#url.port || 80),
      socket: {
        data: (_, chunk) => this.#take(chunk),
        drain: (drained) => this.#send(drained),
        close: gone,
        end: gone,
        error: gone,
      },
    }).catch((cause: unknown) => {
      throw new Unreachable(cause instanceof Error ? cause.message : String(cause));
    });
    if (this.#isClosed) {
      socket.terminate();
      throw new Unreachable("this connection was closed");
    }
    this.#socket = socket;
    return socket;
  }

  #text({ method, target, headers, body }: HttpRequest): string {
    const all = Object.entries({
      Host: this.#url.host,
      ...headers,
      ...(body !== undefined && {
        "Content-Type": "application/json",
        "Content-Length": String(Buffer.byteLength(body)),
      }),
    });
    return `${method} ${target} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body ?? ""}`;
  }

  #send(socket: Socket): void {
    if (this.#unsent.length > 0) this.#unsent = this.#unsent.subarray(Math.max(0, socket.write(this.#unsent)));
  }

  #take(chunk: Buffer): void {
    try {
      if (this.#exchange === null) throw new Error("the service sent data without a request");
      const answer = this.#exchange.reader.take(chunk);
      if (answer === null) return;
      this.#exchange.answer.resolve(answer);
      this.#exchange = null;
    } catch (cause) {
      this.#fail(cause instanceof Error ? cause.message : String(cause));
    }
  }

  #fail(reason: string): void {
    const [socket, exchange] = [this.#socket, this.#exchange];
    this.#socket = null;
    this.#exchange = null;
    this.#unsent = Buffer.alloc(0);
    socket?.terminate();
    exchange?.answer.reject(new Unreachable(reason));
  }
}

/** An answer cannot arrive before there is a connection, but a failure can. */
function neverFirst(): never {
  throw new Error("an answer came before its request");
}

/** Assembles one answer. Bodies without a length are refused, since the service sends none. */
class AnswerReader {
  #head = Buffer.alloc(0);
  #status = 0;
  #headers: ReadonlyMap<string, string> = new Map();
  #body: Buffer | null = null;
  #received = 0;

  /** null: incomplete. Throws if it is not a valid answer. */
  take(chunk: Buffer): HttpAnswer | null {
    if (this.#body !== null) return this.#takeBody(this.#body, chunk);
    // The runtime reuses the memory of the chunk.
    this.#head = Buffer.concat([this.#head, chunk]);
    const end = this.#head.indexOf("\r\n\r\n");
    if (end < 0) {
      if (this.#head.length > HEAD_BYTES_MAX) throw new Error(`a head of more than ${HEAD_BYTES_MAX} bytes`);
      return null;
    }
    this.#readHead(this.#head.toString("latin1", 0, end));
    this.#body = Buffer.allocUnsafe(this.#bodyBytes());
    return this.#takeBody(this.#body, this.#head.subarray(end + 4));
  }

  #takeBody(body: Buffer, chunk: Buffer): HttpAnswer | null {
    if (this.#received + chunk.length > body.length) throw new Error("an answer is longer than it says");
    this.#received += chunk.copy(body, this.#received);
    return this.#received < body.length ? null : { status: this.#status, headers: this.#headers, body };
  }

  #readHead(head: string): void {
    const [statusLine = "", ...lines] = head.split("\r\n");
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1];
    if (status === undefined) throw new Error("no HTTP answer");
    this.#status = Number(status);
    this.#headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
  }

  #bodyBytes(): number {
    if (this.#status === 204 || this.#status === 304) return 0;
    const length = this.#headers.get("content-length");
    if (length === undefined) throw new Error("an answer without a length");
    return Number(length);
  }
}
