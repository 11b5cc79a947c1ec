/** Secrets that neighbors need and that no variable has: they may come from a file of others. */
import type { Config } from "../config/config.ts";
import { unsetVariables } from "../config/load/secrets.ts";
import { pathText } from "../schema/problem.ts";
import type { Environment } from "../system/environment.ts";
import type { FileFault } from "../system/file-fault.ts";

export function secretFaults(config: Config, environment: Pick<Environment, "read">): FileFault[] {
  if (config.api.envFile === null) return [];
  return unsetVariables(config, (name) => environment.read(name)).map(({ name, path }) => ({
    key: pathText(path),
    error: `the variable ${name} is not set, and api.env_file does not have it`,
    effect: "the session with this neighbor is left as it is until the variable is set",
  }));
}
