/** The sections `notify` and `update_check`: whom the service tells of its own accord, and whom it asks. */
import { type Static, Type } from "@sinclair/typebox";
import { NOTIFY_RECIPIENTS_MAX, UPDATE_INTERVAL_SECONDS_MAX } from "../../limits.ts";
import { boolean, closed, integer, list, text, withDefaults } from "../load/schema-forms.ts";

/** URLs and tokens of channels are secrets: they come by environment variables. */
const Webhook = Type.Object({ url_env: text("variableName"), secret_env: Type.Optional(text("variableName")) }, closed);
const Slack = Type.Object({ url_env: text("variableName") }, closed);
const Telegram = Type.Object({ token_env: text("variableName"), chat_id: Type.String({ minLength: 1 }) }, closed);
const Email = Type.Object(
  {
    host: Type.String({ minLength: 1 }),
    port: integer(1, 0xffff, 587),
    /** `starttls` is required where it is named, not merely tried. */
    security: Type.Unsafe<"starttls" | "tls" | "none">({
      ...Type.Union([Type.Literal("starttls"), Type.Literal("tls"), Type.Literal("none")]),
      default: "starttls",
    }),
    from: text("mailAddress"),
    to: list(text("mailAddress"), NOTIFY_RECIPIENTS_MAX, { atLeastOne: true }),
    username_env: Type.Optional(text("variableName")),
    password_env: Type.Optional(text("variableName")),
  },
  closed,
);
const Exec = Type.Object({ command: text("absolutePath"), timeout_seconds: integer(1, 300, 10) }, closed);

export const NotifySection = Type.Object(
  {
    webhook: Type.Optional(Webhook),
    slack: Type.Optional(Slack),
    telegram: Type.Optional(Telegram),
    email: Type.Optional(Email),
    exec: Type.Optional(Exec),
  },
  closed,
);

export const UpdateCheckSection = Type.Object(
  {
    enabled: boolean(false),
    url: Type.Optional(text("httpUrl")),
    interval_seconds: integer(60, UPDATE_INTERVAL_SECONDS_MAX, 21_600),
  },
  withDefaults,
);

/** A channel that is not configured is null. */
export interface NotifyConfig {
  readonly webhook: { readonly urlEnv: string; readonly secretEnv: string | null } | null;
  readonly slack: { readonly urlEnv: string } | null;
  readonly telegram: { readonly tokenEnv: string; readonly chatId: string } | null;
  readonly email: EmailConfig | null;
  readonly exec: { readonly command: string; readonly timeoutSeconds: number } | null;
}

export interface EmailConfig {
  readonly host: string;
  readonly port: number;
  readonly security: "starttls" | "tls" | "none";
  readonly from: string;
  readonly to: readonly string[];
  readonly usernameEnv: string | null;
  readonly passwordEnv: string | null;
}

export interface UpdateCheckConfig {
  /** null: off. */
  readonly url: string | null;
  readonly intervalSeconds: number;
}

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

/** Enabled without a URL is a fault that a rule between the keys tells of. */
export function buildUpdateCheck(file: Static<typeof UpdateCheckSection>): UpdateCheckConfig {
  return { url: file.enabled ? (file.url ?? null) : null, intervalSeconds: file.interval_seconds };
}
