/** A fleet that is played by its own process, so that it takes no time from whoever measures. */
import { join } from "node:path";
import { linesOf } from "../../test/fixtures/lines.ts";
import type { Delivery, FleetSummary } from "./fleet.ts";

/** A thousand nodes that made new ones would take as much of the machine as the service that bears them. */
const REPORTS_KEPT = 2;
const MAIN = join(import.meta.dir, "main.ts");

export class EdgeSimProcess {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly #lines: AsyncGenerator<string, void>;

  private constructor(child: Bun.Subprocess<"pipe", "pipe", "inherit">) {
    this.#child = child;
    this.#lines = linesOf(child.stdout);
  }

  /** @param directory as `main.ts write` made it. Resolves when all nodes have begun. */
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

  /** Times of answers count anew. */
  async resetTimes(): Promise<void> {
    await this.#ask("reset");
  }

  /** Resolves when its nodes have left. */
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
