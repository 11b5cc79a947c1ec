/** A user of the scrubbing lab who asks at an even pace with a program of his own, and what of it was answered. */
import { linesOf } from "../../fixtures/lines.ts";
import type { Namespace } from "../namespaces.ts";
import { type RequestLine, type RequestSummary, summaryOf } from "./scrub-requests.ts";

export interface ProbeOptions {
  readonly from: Namespace;
  /** Ends by itself within TIMEOUT_MS. */
  readonly command: readonly string[];
  /** What it prints where it was answered. */
  readonly answer: string;
  readonly intervalMs: number;
}

export class Probe {
  readonly #lines: RequestLine[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: ProbeOptions) {
    this.#timer = setInterval(() => {
      const asked: Promise<void> = this.#ask(options).finally(() => this.#running.delete(asked));
      this.#running.add(asked);
    }, options.intervalMs);
  }

  get served(): number {
    return this.#lines.filter(({ isServed }) => isServed).length;
  }

  /** Resolves when the last one is over. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
  }

  between(fromMs: number, toMs: number): RequestSummary {
    return summaryOf(this.#lines, fromMs, toMs);
  }

  async #ask({ from, command, answer }: ProbeOptions): Promise<void> {
    const startedAtMs = performance.timeOrigin + performance.now();
    const child = Bun.spawn(from.command(command), { stdin: "ignore", stdout: "pipe", stderr: "ignore" });
    const text = await new Response(child.stdout).text();
    const tookMs = performance.timeOrigin + performance.now() - startedAtMs;
    this.#lines.push({ startedAtMs, tookMs, isServed: text.trim() === answer });
  }
}

/** A player: packets of UDP at an even pace, each of which must be echoed within a second. */
export class Player {
  readonly #lines: RequestLine[] = [];
  readonly #process: Bun.Subprocess<"ignore", "pipe", "inherit">;
  readonly #reading: Promise<void>;

  constructor(from: Namespace, { address, port, intervalMs }: { address: string; port: number; intervalMs: number }) {
    const program = `
      const sent = new Map(); let number = 0;
      const now = () => performance.timeOrigin + performance.now();
      const say = (startedAtMs, isServed) => console.log(JSON.stringify({ startedAtMs, tookMs: now() - startedAtMs, isServed }));
      const socket = await Bun.udpSocket({ connect: { hostname: "${address}", port: ${port} }, socket: {
        data(_, bytes) { const key = bytes.toString(); const at = sent.get(key); if (sent.delete(key)) say(at, true); } } });
      const timer = setInterval(() => {
        const key = "move " + number++; sent.set(key, now()); socket.send(key);
        for (const [late, at] of sent) if (now() - at > 1000) { sent.delete(late); say(at, false); }
      }, ${intervalMs});
      process.on("SIGTERM", () => { clearInterval(timer); setTimeout(() => process.exit(), 100); });`;
    const command = from.command([process.execPath, "-e", program]);
    this.#process = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    this.#reading = this.#read();
  }

  get served(): number {
    return this.#lines.filter(({ isServed }) => isServed).length;
  }

  async stop(): Promise<void> {
    this.#process.kill();
    await this.#process.exited;
    await this.#reading;
  }

  between(fromMs: number, toMs: number): RequestSummary {
    return summaryOf(this.#lines, fromMs, toMs);
  }

  async #read(): Promise<void> {
    for await (const line of linesOf(this.#process.stdout)) this.#lines.push(JSON.parse(line) as RequestLine);
  }
}
