/** Answers `GET /metrics` and nothing else, for processes without the service's API. */
import type { Clock } from "../system/clock.ts";
import { messageOf } from "../system/error-message.ts";
import { ScrapeText } from "./scrape-text.ts";

interface MetricsListenerOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly contentType: string;
  readonly text: () => Promise<string>;
  readonly clock: Pick<Clock, "monotonicMs">;
}

/** The address is not available; the message names it. */
export class MetricsListenError extends Error {}

export class MetricsListener {
  readonly #server: Bun.Server<undefined>;

  /** Listens when this returns. Throws MetricsListenError. */
  constructor({ host, port, contentType, text, clock }: MetricsListenerOptions) {
    const shared = new ScrapeText(text, clock);
    try {
      this.#server = Bun.serve({
        hostname: host,
        port,
        idleTimeout: 10,
        maxRequestBodySize: 1024,
        development: false,
        reusePort: false,
        fetch: async (request) => {
          if (new URL(request.url).pathname !== "/metrics") return new Response("not found\n", { status: 404 });
          if (request.method !== "GET") return new Response("use GET\n", { status: 405, headers: { allow: "GET" } });
          return new Response(await shared.read(), { headers: { "content-type": contentType } });
        },
      });
    } catch (cause) {
      const detail = `cannot listen on ${host} port ${port}: ${messageOf(cause)}`;
      throw new MetricsListenError(`${detail}; change metrics_listen`, { cause });
    }
  }

  get port(): number {
    return this.#server.port ?? 0;
  }

  async close(): Promise<void> {
    await this.#server.stop(true);
  }
}
