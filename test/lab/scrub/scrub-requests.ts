/** Legitimate requests through the scrubbing lab: what its client saw, and what of it counts. */
import { join } from "node:path";
import { linesOf } from "../../fixtures/lines.ts";
import type { Namespace } from "../namespaces.ts";

const CLIENT = join(import.meta.dir, "scrub-client.ts");
/** Two attempts to connect: one packet that is lost is no failure yet. */
export const TIMEOUT_MS = 2000;

/** Times are wall time, ms. */
export interface RequestLine {
  readonly startedAtMs: number;
  readonly tookMs: number;
  /** The whole answer came, and it was the right one. */
  readonly isServed: boolean;
}

export interface RequestSummary {
  readonly requests: number;
  readonly served: number;
  readonly medianMs: number;
  readonly slowestMs: number;
}

/** Of those that began at such times. */
export function summaryOf(all: readonly RequestLine[], fromMs: number, toMs: number): RequestSummary {
  const lines = all.filter(({ startedAtMs }) => startedAtMs >= fromMs && startedAtMs <= toMs);
  const served = lines.filter(({ isServed }) => isServed);
  const times = served.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return {
    requests: lines.length,
    served: served.length,
    medianMs: times[times.length >> 1] ?? 0,
    slowestMs: times.at(-1) ?? 0,
  };
}

export class Requests {
  readonly #process: Bun.Subprocess<"ignore", "pipe", "inherit">;
  readonly #reading: Promise<void>;
  readonly #lines: RequestLine[] = [];

  constructor(client: Namespace, { origin, intervalMs }: { readonly origin: string; readonly intervalMs: number }) {
    const command = client.command([process.execPath, CLIENT, origin, String(intervalMs)]);
    this.#process = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    this.#reading = this.#read();
  }

  /** So far. */
  get served(): number {
    return this.#lines.filter(({ isServed }) => isServed).length;
  }

  /** Resolves when the last request is over. */
  async stop(): Promise<void> {
    this.#process.kill();
    await this.#process.exited;
    await this.#reading;
  }

  /** Of those that began at such times. Call after stop(): before, those that fail are not among them yet. */
  between(fromMs: number, toMs: number): RequestSummary {
    return summaryOf(this.#lines, fromMs, toMs);
  }

  async #read(): Promise<void> {
    for await (const line of linesOf(this.#process.stdout)) this.#lines.push(JSON.parse(line) as RequestLine);
  }
}
