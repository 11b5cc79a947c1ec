/** Users of the scrubbing lab's victim: their requests, times, and whether they were answered. */
import { join } from "node:path";
import { linesOf } from "../../fixtures/lines.ts";
import type { Namespace } from "../namespaces.ts";
import { type RequestLine, type RequestSummary, summaryOf, TIMEOUT_MS } from "./scrub-requests.ts";

export abstract class User {
  protected readonly lines: RequestLine[] = [];

  get served(): number {
    return this.lines.filter(({ isServed }) => isServed).length;
  }

  /** Of the requests that began at such times. Call after stop(): before, those that fail are not among them yet. */
  between(fromMs: number, toMs: number): RequestSummary {
    return summaryOf(this.lines, fromMs, toMs);
  }

  /** Resolves when the last request is over. */
  abstract stop(): Promise<void>;
}

/** Several users as one. */
export class Crowd extends User {
  readonly #users: readonly User[];

  constructor(...users: readonly User[]) {
    super();
    this.#users = users;
  }

  /** Of the one with the fewest: none of them is 0 then. */
  override get served(): number {
    return Math.min(...this.#users.map(({ served }) => served));
  }

  override between(fromMs: number, toMs: number): RequestSummary {
    const all = this.#users.map((user) => user.between(fromMs, toMs));
    const sum = (of: (one: RequestSummary) => number) => all.reduce((total, one) => total + of(one), 0);
    return {
      requests: sum(({ requests }) => requests),
      served: sum(({ served }) => served),
      medianMs: Math.max(...all.map(({ medianMs }) => medianMs)),
      slowestMs: Math.max(...all.map(({ slowestMs }) => slowestMs)),
    };
  }

  override async stop(): Promise<void> {
    await Promise.all(this.#users.map((user) => user.stop()));
  }
}

export interface ProgramOptions {
  readonly command: readonly string[];
  /** What a line of its output says; null: nothing of a request. Default: the request, as JSON. */
  readonly read?: (line: string) => RequestLine | readonly RequestLine[] | null;
  /** Default: SIGTERM. */
  readonly signal?: NodeJS.Signals;
}

/** A program that reports the results of its requests, until it is signaled to end. */
export class Program extends User {
  readonly #process: Bun.Subprocess<"ignore", "pipe", "inherit">;
  readonly #reading: Promise<void>;
  readonly #signal: NodeJS.Signals;

  constructor({ command, read = (line) => JSON.parse(line) as RequestLine, signal = "SIGTERM" }: ProgramOptions) {
    super();
    this.#process = Bun.spawn([...command], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    this.#signal = signal;
    this.#reading = this.#read(read);
  }

  override async stop(): Promise<void> {
    this.#process.kill(this.#signal);
    await this.#process.exited;
    await this.#reading;
  }

  async #read(read: NonNullable<ProgramOptions["read"]>): Promise<void> {
    for await (const line of linesOf(this.#process.stdout)) this.lines.push(...[read(line) ?? []].flat());
  }
}

/** A session that lives: lines at an even pace to a program that sends them back, all over one connection. */
export class Session extends User {
  readonly #process: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly #timer: NodeJS.Timeout;
  readonly #reading: Promise<void>;
  /** By the number of the line, wall time, ms. */
  readonly #sent = new Map<string, number>();
  #number = 0;

  constructor(command: readonly string[], intervalMs: number) {
    super();
    this.#process = Bun.spawn([...command], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
    this.#timer = setInterval(() => this.#say(), intervalMs);
    this.#reading = this.#read();
  }

  override async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (; this.#sent.size > 0; await Bun.sleep(10)) this.#giveUp();
    this.#process.kill();
    await this.#process.exited;
    await this.#reading;
  }

  #say(): void {
    const key = String(this.#number++);
    this.#sent.set(key, wallMs());
    // Into a pipe that is closed where the session was lost: then no line comes back.
    void Promise.try(() => {
      void this.#process.stdin.write(`${key}\n`);
      return this.#process.stdin.flush();
    }).catch(() => {});
    this.#giveUp();
  }

  #giveUp(): void {
    for (const [late, atMs] of this.#sent) if (wallMs() - atMs > TIMEOUT_MS) this.#end(late, false);
  }

  #end(key: string, isServed: boolean): void {
    const startedAtMs = this.#sent.get(key);
    if (startedAtMs === undefined) return;
    this.#sent.delete(key);
    this.lines.push({ startedAtMs, tookMs: wallMs() - startedAtMs, isServed });
  }

  async #read(): Promise<void> {
    for await (const line of linesOf(this.#process.stdout)) this.#end(line, true);
  }
}

/** Requests at an even pace, each on a connection of its own. */
export function requestsOf(client: Namespace, { origin, intervalMs }: { origin: string; intervalMs: number }): Program {
  const command = [process.execPath, join(import.meta.dir, "scrub-client.ts"), origin, String(intervalMs)];
  return new Program({ command: client.command(command) });
}

export function wallMs(): number {
  return performance.timeOrigin + performance.now();
}
