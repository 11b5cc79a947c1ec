/**
 * The port of the API, with TLS where that is configured. A renewed certificate takes effect within seconds: the port is
 * opened again with it, and requests in progress end on the connections that they came by. While there is no certificate
 * that can be used the port is closed; it never serves plain http.
 */
import { messageOf } from "../../system/error-message.ts";
import { PemFileError } from "../../system/pem-files.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import { ListenError } from "./listen-error.ts";
import type { createApp } from "./pipeline.ts";
import type { TlsPair } from "./tls-files.ts";

interface ListenerOptions {
  readonly app: ReturnType<typeof createApp>;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Answers after an error of the library itself, outside of the pipeline. */
  readonly error: (cause: unknown) => Response;
  /** Reads the files as they are now, and throws when they cannot be used; null: no TLS. */
  readonly readTls: (() => TlsPair) | null;
  /** The files cannot be used; null: they can. */
  readonly onTls?: (error: string | null) => void;
  readonly log: {
    info(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
  readonly limiter: { pass(key: string, say: (suppressed: number) => void): void };
  readonly timers: Timers;
}

/** How often the files are read again, ms. */
const TLS_CHECK_MS = 5000;

type Server = NonNullable<ReturnType<typeof createApp>["server"]>;

export class Listener {
  readonly #options: ListenerOptions;
  /** In force. */
  #pair: TlsPair | null = null;
  /** Listeners before the present one, whose connections may still have requests in progress. */
  readonly #replaced = new Set<Server>();
  #port = 0;
  #stopWatching: Cancel = () => {};

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Throws ListenError. Without a certificate that can be used the port is opened as soon as there is one. */
  start(): void {
    const { port, readTls, timers } = this.#options;
    if (readTls === null) {
      this.#listen(port, null);
      return;
    }
    const pair = this.#firstPair(readTls);
    if (pair === null) this.#port = port;
    else this.#listen(port, pair);
    this.#stopWatching = timers.every(TLS_CHECK_MS, () => this.#follow(readTls));
  }

  /** 0 before start() and after stop(); also while the port is closed for want of a certificate, it is the configured one. */
  get port(): number {
    return this.#port;
  }

  get isOpen(): boolean {
    return this.#options.app.server !== null;
  }

  /** Accepts no more connections, and resolves when the requests in progress have ended. */
  async stop(): Promise<void> {
    const { app } = this.#options;
    this.#stopWatching();
    const stopped = [...this.#replaced, app.server].map(async (server) => {
      await server?.stop();
    });
    await Promise.all(stopped);
    app.server = null;
    this.#port = 0;
  }

  /** Aborts requests in progress. */
  abort(): void {
    for (const server of [...this.#replaced, this.#options.app.server]) void server?.stop(true);
  }

  #firstPair(readTls: () => TlsPair): TlsPair | null {
    const { onTls } = this.#options;
    try {
      const pair = readTls();
      onTls?.(null);
      return pair;
    } catch (cause) {
      if (!(cause instanceof PemFileError)) throw cause;
      onTls?.(cause.message);
      return null;
    }
  }

  #listen(port: number, tls: TlsPair | null): void {
    const { app, host, error } = this.#options;
    try {
      app.listen({ hostname: host, port, error, ...(tls !== null && { tls: { ...tls } }) });
    } catch (cause) {
      throw new ListenError(host, port, cause);
    }
    this.#pair = tls;
    this.#port = app.server?.port ?? 0;
  }

  #follow(readTls: () => TlsPair): void {
    const { app, log, limiter, onTls } = this.#options;
    try {
      const next = readTls();
      const { server } = app;
      if (server !== null && next.cert === this.#pair?.cert && next.key === this.#pair.key) {
        onTls?.(null);
        return;
      }
      if (server !== null) this.#retire(server);
      app.server = null;
      this.#listen(this.#port, next);
      onTls?.(null);
      log.info({}, "the API has a new certificate");
    } catch (cause) {
      onTls?.(messageOf(cause));
      limiter.pass("tls", (suppressed) =>
        log.error({ cause, suppressed }, "the new certificate of the API cannot be used: it is tried again"),
      );
    }
  }

  /** The library replaces no certificate in place. Between the two listeners the port is closed for less than 1 ms. */
  #retire(server: Server): void {
    this.#replaced.add(server);
    void server.stop().then(() => this.#replaced.delete(server));
  }
}
