/** The environment as the service reads it: that of the process, with the variables of `api.env_file` as they are now. */
import type { Secrets } from "../access/tokens.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Clock } from "../system/clock.ts";
import { EnvFile } from "../system/env-file.ts";
import { type Environment, processEnvironment } from "../system/environment.ts";

interface ServiceEnvironmentOptions {
  readonly clock: Pick<Clock, "wallMs">;
  readonly log: Pick<Log, "info" | "error">;
  readonly limiter: Pick<Limiter, "pass">;
}

export class ServiceEnvironment implements Environment {
  readonly #file: EnvFile;
  /** For callers that read many variables at one time. */
  readonly secrets: Secrets = {
    refresh: () => {
      this.#file.refresh();
      return this.#file.changes;
    },
    read: (variable) => processEnvironment.read(variable),
  };

  constructor({ clock, log, limiter }: ServiceEnvironmentOptions) {
    this.#file = new EnvFile({
      clock,
      onProblem: (path, problem) =>
        limiter.pass("env_file", (suppressed) =>
          log.error(
            { env_file: path, problem, suppressed },
            "the env file cannot be used: variables stay as they were",
          ),
        ),
      onChange: (path, { set, unset }) => log.info({ env_file: path, set, unset }, "variables taken from the env file"),
    });
  }

  /** null: none. */
  follow(path: string | null): void {
    this.#file.follow(path);
  }

  read(name: string): string | null {
    this.#file.refresh();
    return processEnvironment.read(name);
  }
}
