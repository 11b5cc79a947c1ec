/** A fleet in a process of its own, so that it uses no time of the measuring process. */
import { join } from "node:path";
import { LineProcess } from "../../test/fixtures/line-process.ts";
import type { Delivery, FleetSummary } from "./fleet.ts";

/** Generating new reports for a thousand nodes would need as much CPU as the measured service. */
const REPORTS_KEPT = 2;
const MAIN = join(import.meta.dir, "main.ts");

export class EdgeSimProcess {
  readonly #process: LineProcess;

  private constructor(process: LineProcess) {
    this.#process = process;
  }

  /** @param directory as written by `main.ts write`. Resolves when all nodes have started. */
  static async play(options: {
    readonly directory: string;
    readonly port: number;
    readonly windowSeconds: number;
  }): Promise<EdgeSimProcess> {
    const { directory, port, windowSeconds } = options;
    const where = ["play", directory, "--url", `http://127.0.0.1:${port}`, "--driven", "--orders", "0"];
    const how = ["--reports-kept", String(REPORTS_KEPT), "--window", String(windowSeconds)];
    const fleet = new LineProcess([process.execPath, MAIN, ...where, ...how]);
    await fleet.line();
    return new EdgeSimProcess(fleet);
  }

  async summary(): Promise<FleetSummary> {
    return JSON.parse(await this.#process.ask("summary")) as FleetSummary;
  }

  /** From now on documents count as delivered. */
  async mark(): Promise<void> {
    await this.#process.ask("mark");
  }

  async delivery(): Promise<Delivery> {
    return JSON.parse(await this.#process.ask("delivery")) as Delivery;
  }

  /** Resets the answer times. */
  async resetTimes(): Promise<void> {
    await this.#process.ask("reset");
  }

  /** Resolves when its nodes have stopped. */
  end(): Promise<void> {
    return this.#process.end();
  }
}
