/** Channels that are valid but will not deliver in this environment, or that expose a password. */
import type { Finding } from "../../schema/shape.ts";
import type { Config } from "../config.ts";
import type { ReadVariable } from "../load/secrets.ts";

export function* notifyWarnings({ notify }: Config, read: ReadVariable): Generator<Finding> {
  for (const { place: path, settings } of notify.targets) {
    for (const [key, name] of Object.entries(settings)) {
      // Only a warning: the variable is read at each delivery, and may be set later without a restart.
      if (!key.endsWith("Env") || typeof name !== "string" || (read(name) ?? "") !== "") continue;
      const rule = `the variable ${name} is not set here: nothing is delivered`;
      yield { path: [...path, `${key.slice(0, -3)}_env`], rule };
    }
    if (settings.kind === "email" && settings.security === "none" && settings.passwordEnv !== null)
      yield { path: [...path, "security"], rule: "is none: the password crosses the network in the clear" };
    if (settings.kind === "syslog" && settings.transport === "tcp")
      yield { path: [...path, "transport"], rule: "is tcp: events cross the network in the clear" };
  }
}
