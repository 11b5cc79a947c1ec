/** A fleet in a process of its own, so that it uses no time of the measuring process. */
import { join } from "node:path";
import { linesOf } from "../../test/fixtures/lines.ts";
import type { Delivery, FleetSummary } from "./fleet.ts";

/** Generating new reports for a thousand nodes would need as much CPU as the measured service. */
const REPORTS_KEPT = 2;
const MAIN = join(import.meta.dir, "main.ts");

export class EdgeSimProcess {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly #lines: AsyncGenerator<string, void>;

  private constructor(child: Bun.Subprocess<"pipe", "pipe", "inherit">) {
    this.#child = child;
    this.#lines = linesOf(child.stdout);
  }

  /** @param directory as written by `main.ts write`. Resolves when all nodes have started. */
  static async play(options: {
    readonly directory: string;
    readonly port: number;
    readonly orders: number;
    readonly windowSeconds: number;
  }): Promise<EdgeSimProcess> {
    const { directory, port, orders, windowSeconds } = options;
    const command = [process.execPath, MAIN, "play", directory, "--url", `http://127.0.0.1:${port}`, "--driven"];
    const how = [
      "--no-cache",
      "--reports-kept",
      String(REPORTS_KEPT),
      "--orders",
      String(orders),
      "--window",
      String(windowSeconds),
    ];
    const sim = new EdgeSimProcess(
      Bun.spawn([...command, ...how], { stdin: "pipe", stdout: "pipe", stderr: "inherit" }),
    );
    await sim.#answer();
    return sim;
  }

  summary(): Promise<FleetSummary> {
    return this.#ask("summary");
  }

  /** From now on documents count as delivered. */
  async mark(): Promise<void> {
    await this.#ask("mark");
  }

  delivery(): Promise<Delivery> {
    return this.#ask("delivery");
  }

  /** Resets the answer times. */
  async resetTimes(): Promise<void> {
    await this.#ask("reset");
  }

  /** Resolves when its nodes have stopped. */
  async end(): Promise<void> {
    await this.#child.stdin.end();
    await this.#child.exited;
  }

  async #ask<T>(command: string): Promise<T> {
    await this.#child.stdin.write(`${command}\n`);
    await this.#child.stdin.flush();
    return this.#answer();
  }

  async #answer<T>(): Promise<T> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("the fleet ended");
    return JSON.parse(value) as T;
  }
}
