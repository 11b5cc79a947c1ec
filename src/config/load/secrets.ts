/**
 * Environment variables that a configuration names: an unset one is an error at the start, and a warning for `check`.
 */
import type { ConfigPath } from "../../schema/problem.ts";
import type { Config } from "../config.ts";

/** null: not set. */
export type ReadVariable = (name: string) => string | null;

interface UnsetVariable {
  readonly name: string;
  readonly path: ConfigPath;
}

/** Empty counts as unset: it is not a secret. */
export function unsetVariables(config: Config, read: ReadVariable): UnsetVariable[] {
  return (config.bgp?.neighbors ?? []).flatMap(({ passwordEnv: name }, i) =>
    name === null || (read(name) ?? "") !== "" ? [] : [{ name, path: ["bgp", "neighbors", i, "password_env"] }],
  );
}
