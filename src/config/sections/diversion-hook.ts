/** The key `scrubbing.hook`: what diverts prefixes to a scrubbing center of others. */
import { type Static, Type } from "@sinclair/typebox";
import type { HookConfig } from "../../divert/divert-config.ts";
import { boolean, closedObject, described, integer, text } from "../../schema/schema-forms.ts";

export const HookSection = described(
  closedObject({
    command: described(
      Type.Optional(text("absolutePath")),
      "A program that is run for each request, without arguments, with the request as JSON on its standard input.",
    ),
    url_env: described(
      Type.Optional(text("variableName")),
      "The environment variable with the URL that each request is posted to, in place of `command`.",
    ),
    secret_env: described(
      Type.Optional(text("variableName")),
      "The environment variable with the key that signs each request to the URL, like those of `notify.webhook`. Without it they are not signed.",
    ),
    timeout_seconds: described(integer(1, 300, 30), "How long one request may take."),
    attempts: described(
      integer(1, 20, 4),
      "How many times a request to begin a diversion, or to confirm it, may fail in a row until the diversion has failed: its bans then go on to their next rung, or to `ban.fallback`. A request to end one is repeated until it succeeds.",
    ),
    confirm_seconds: described(
      integer(0, 3600, 900),
      "How long a diversion may take until the hook confirms it. 0: it is confirmed when the hook has begun it; if the hook answers that it has not begun yet, that is a failed attempt.",
    ),
    confirm_every_seconds: described(
      integer(0, 86_400, 60),
      "How often a diversion that was confirmed is confirmed again. If the hook answers twice in a row that it is not diverted, it is lost: its bans go on to their next rung, or to `ban.fallback`, and want it again a minute later; if they have neither, the hook is called to begin it again at once. 0, or `confirm_seconds: 0`: never.",
    ),
    retry_after_seconds: described(
      integer(10, 86_400, 600),
      "The time after a failure in which no request to divert the same prefix is made.",
    ),
    dry_run: described(
      boolean(false),
      "Whether requests have `dry_run: true`, upon which a hook answers without diverting anything: its bans stay `pending`. Bans in dry run never call the hook.",
    ),
  }),
  "A program or web service that diverts traffic to a scrubbing center by an interface of that center, in place of a route or beside it. With it no next hop is required. Not allowed with `nodes` or `cluster`.",
  { examples: [{ command: "/etc/floodwall/divert", confirm_seconds: 600 }] },
);

export function buildHook(file: Static<typeof HookSection>): HookConfig {
  const { command = "", url_env: urlEnv, secret_env: secretEnv = null } = file;
  return {
    target: urlEnv === undefined ? { kind: "command", command } : { kind: "webhook", urlEnv, secretEnv },
    timeoutSeconds: file.timeout_seconds,
    attempts: file.attempts,
    confirmSeconds: file.confirm_seconds,
    confirmEverySeconds: file.confirm_every_seconds,
    retryAfterSeconds: file.retry_after_seconds,
    isDryRun: file.dry_run,
  };
}
