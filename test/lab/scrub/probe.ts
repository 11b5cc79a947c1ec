/** A user of the scrubbing lab who asks at an even pace with a program of his own, started for each request. */
import type { Namespace } from "../namespaces.ts";
import { User, wallMs } from "./user.ts";

export interface ProbeOptions {
  readonly from: Namespace;
  /** Of each request, by its number from 0. Ends by itself. */
  readonly command: (number: number) => readonly string[];
  /** What it prints where it was answered. */
  readonly answer: string;
  readonly intervalMs: number;
}

export class Probe extends User {
  readonly #running = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #number = 0;

  constructor(options: ProbeOptions) {
    super();
    this.#timer = setInterval(() => {
      const asked: Promise<void> = this.#ask(options).finally(() => this.#running.delete(asked));
      this.#running.add(asked);
    }, options.intervalMs);
  }

  override async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
  }

  async #ask({ from, command, answer }: ProbeOptions): Promise<void> {
    const startedAtMs = wallMs();
    const argv = from.command(command(this.#number++));
    const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "ignore" });
    const text = await new Response(child.stdout).text();
    this.lines.push({ startedAtMs, tookMs: wallMs() - startedAtMs, isServed: text.trim() === answer });
  }
}
