/** Channels that are valid but will not deliver in this environment, or that expose a password. */
import type { NotifyConfig } from "../../notify/notify-config.ts";
import type { Finding } from "../../schema/shape.ts";
import type { Config } from "../config.ts";
import type { ReadVariable } from "../load/secrets.ts";

export function* notifyWarnings({ notify }: Config, read: ReadVariable): Generator<Finding> {
  for (const { channel, key, name } of variables(notify)) {
    // Only a warning: the variable is read at each delivery, and may be set later without a restart.
    if ((read(name) ?? "") !== "") continue;
    yield { path: ["notify", channel, key], rule: `the variable ${name} is not set here: nothing is delivered` };
  }
  if (notify.email?.security === "none" && notify.email.passwordEnv !== null) {
    yield { path: ["notify", "email", "security"], rule: "is none: the password crosses the network in the clear" };
  }
}

function variables({ webhook, slack, telegram, email }: NotifyConfig) {
  const named = [
    { channel: "webhook", key: "url_env", name: webhook?.urlEnv },
    { channel: "webhook", key: "secret_env", name: webhook?.secretEnv },
    { channel: "slack", key: "url_env", name: slack?.urlEnv },
    { channel: "telegram", key: "token_env", name: telegram?.tokenEnv },
    { channel: "email", key: "username_env", name: email?.usernameEnv },
    { channel: "email", key: "password_env", name: email?.passwordEnv },
  ];
  return named.flatMap(({ name, ...place }) => (name === undefined || name === null ? [] : [{ ...place, name }]));
}
