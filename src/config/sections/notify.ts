/** The sections `notify` and `update_check`: who is notified, and where new releases are looked up. */
import { type Static, Type } from "@sinclair/typebox";

import type { EmailConfig, NotifyConfig } from "../../notify/notify-config.ts";
import type { UpdateCheckConfig } from "../../release/update-check-config.ts";
import { boolean, closed, described, integer, list, text, withDefaults } from "../../schema/schema-forms.ts";

/** Recipients of one mail. */
const NOTIFY_RECIPIENTS_MAX = 32;
/**
 * Seconds between two update checks: with a tenth added, the delay must not exceed 24 days, the longest that a timer
 * accepts.
 */
export const UPDATE_INTERVAL_SECONDS_MAX = 1_209_600;

/** URLs and tokens of channels are secrets, so they are in environment variables. */
const Webhook = Type.Object(
  {
    url_env: described(text("variableName"), "The environment variable with the URL."),
    secret_env: described(
      Type.Optional(text("variableName")),
      "The environment variable with the key that signs each request. Without it requests are not signed.",
    ),
  },
  closed,
);
const Slack = Type.Object(
  { url_env: described(text("variableName"), "The environment variable with the URL of a Slack incoming webhook.") },
  closed,
);
const Telegram = Type.Object(
  {
    token_env: described(text("variableName"), "The environment variable with the token of the bot."),
    chat_id: described(Type.String({ minLength: 1 }), "The chat, as text: write a number in quotes."),
  },
  closed,
);
const Email = Type.Object(
  {
    host: described(Type.String({ minLength: 1 }), "The SMTP server."),
    port: described(integer(1, 0xffff, 587), "The port of the SMTP server."),
    security: described(
      Type.Unsafe<"starttls" | "tls" | "none">({
        ...Type.Union([Type.Literal("starttls"), Type.Literal("tls"), Type.Literal("none")]),
        default: "starttls",
      }),
      "How the connection is encrypted. With `starttls` nothing is sent to a server that does not offer it.",
    ),
    from: described(text("mailAddress"), "The sender."),
    to: described(list(text("mailAddress"), NOTIFY_RECIPIENTS_MAX, { atLeastOne: true }), "The recipients."),
    username_env: described(
      Type.Optional(text("variableName")),
      "The environment variable with the user name. Goes with `password_env`.",
    ),
    password_env: described(
      Type.Optional(text("variableName")),
      "The environment variable with the password. Goes with `username_env`.",
    ),
  },
  closed,
);
const Exec = Type.Object(
  {
    command: described(
      text("absolutePath"),
      "A program that is run for each event, without arguments, with the event as JSON on its standard input.",
    ),
    timeout_seconds: described(integer(1, 300, 10), "How long the program may run before it is killed."),
  },
  closed,
);

export const NotifySection = described(
  Type.Object(
    {
      webhook: described(Type.Optional(Webhook), "Sends each event as JSON by an HTTP POST request."),
      slack: described(Type.Optional(Slack), "Sends messages to Slack."),
      telegram: described(Type.Optional(Telegram), "Sends messages to a Telegram chat."),
      email: described(Type.Optional(Email), "Sends messages by mail."),
      exec: described(Type.Optional(Exec), "Runs a program for each event."),
    },
    closed,
  ),
  "Who is notified of attacks, bans, caps that are reached, lost BGP sessions and lost state. URLs and secrets are in environment variables, which are read at each delivery.",
  {
    examples: [
      {
        webhook: { url_env: "FLOODWALL_WEBHOOK_URL", secret_env: "FLOODWALL_WEBHOOK_SECRET" },
        slack: { url_env: "FLOODWALL_SLACK_URL" },
        telegram: { token_env: "FLOODWALL_TELEGRAM_TOKEN", chat_id: "-1000" },
        email: { host: "mail.example.net", from: "floodwall@example.net", to: ["noc@example.net"] },
        exec: { command: "/usr/local/bin/on-event" },
      },
    ],
  },
);

export const UpdateCheckSection = described(
  Type.Object(
    {
      enabled: described(boolean(false), "Whether `url` is queried for a newer release."),
      url: described(
        Type.Optional(text("httpUrl")),
        'Required when enabled. The answer is `{"version": "1.4.0", "url": "https://…", "security": false}`, at most 64 KiB.',
      ),
      interval_seconds: described(
        integer(60, UPDATE_INTERVAL_SECONDS_MAX, 21_600),
        "The time between two requests; each varies by a tenth.",
      ),
    },
    withDefaults,
  ),
  "Queries a URL for a newer release. The request carries nothing but the name of the product.",
  { examples: [{ enabled: true, url: "https://releases.example.net/floodwall.json" }] },
);

export function buildNotify(file: Static<typeof NotifySection> = {}): NotifyConfig {
  const { webhook, slack, telegram, email, exec } = file;
  return {
    webhook: webhook === undefined ? null : { urlEnv: webhook.url_env, secretEnv: webhook.secret_env ?? null },
    slack: slack === undefined ? null : { urlEnv: slack.url_env },
    telegram: telegram === undefined ? null : { tokenEnv: telegram.token_env, chatId: telegram.chat_id },
    email: email === undefined ? null : buildEmail(email),
    exec: exec === undefined ? null : { command: exec.command, timeoutSeconds: exec.timeout_seconds },
  };
}

function buildEmail(file: Static<typeof Email>): EmailConfig {
  const { host, port, security, from, to, username_env: usernameEnv, password_env: passwordEnv } = file;
  return { host, port, security, from, to, usernameEnv: usernameEnv ?? null, passwordEnv: passwordEnv ?? null };
}

/** A rule between the keys reports `enabled` without a URL. */
export function buildUpdateCheck(file: Static<typeof UpdateCheckSection>): UpdateCheckConfig {
  return { url: file.enabled ? (file.url ?? null) : null, intervalSeconds: file.interval_seconds };
}
