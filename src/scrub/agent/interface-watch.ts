/** Logs once when an interface gets or loses its filter, with the remedy. */
import type { FilterInterface } from "../../dataplane/native.d.ts";
import type { Log } from "../../observability/log.ts";

export class InterfaceWatch {
  readonly #log: Pick<Log, "info" | "error">;
  readonly #last = new Map<string, string>();

  constructor(log: Pick<Log, "info" | "error">) {
    this.#log = log;
  }

  look(interfaces: readonly FilterInterface[]): void {
    for (const { name, state, mode, error } of interfaces) {
      const now = `${state} ${mode} ${error}`;
      if (this.#last.get(name) === now) continue;
      this.#last.set(name, now);
      if (error !== null) this.#log.error({ interface: name, state, problem: error }, "an interface is not filtered");
      else this.#log.info({ interface: name, mode }, "an interface is filtered");
    }
  }
}
