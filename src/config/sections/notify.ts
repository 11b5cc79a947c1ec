/** The sections `notify` and `update_check`: who is notified, and where new releases are looked up. */
import { type Static, Type } from "@sinclair/typebox";
import {
  type EmailConfig,
  type NotifyConfig,
  type NotifyTarget,
  OPSGENIE_URL,
  PAGERDUTY_URL,
  type TargetSettings,
  TEMPLATE_NAMES,
} from "../../notify/notify-config.ts";
import type { UpdateCheckConfig } from "../../release/update-check-config.ts";
import { parseTemplate, type Template } from "../../schema/message-template.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import {
  boolean,
  closedObject,
  defaultedObject,
  described,
  integer,
  list,
  oneOf,
  text,
} from "../../schema/schema-forms.ts";
import { TARGET_KINDS } from "../../targets/target-words.ts";
import { buildRoutes, NOTIFY_ROUTES_MAX, NOTIFY_TARGETS_MAX, Route } from "./notify-routes.ts";
import { buildTenantTargets, TenantTargets } from "./tenant-targets.ts";

/** Recipients of one mail. */
const NOTIFY_RECIPIENTS_MAX = 32;
/** RFC 5424, 6.2.1: daemon, and the local ones. */
const FACILITIES = {
  daemon: 3,
  local0: 16,
  local1: 17,
  local2: 18,
  local3: 19,
  local4: 20,
  local5: 21,
  local6: 22,
  local7: 23,
} as const;
/**
 * Seconds between two update checks: with a tenth added, the delay must not exceed 24 days, the longest that a timer
 * accepts.
 */
export const UPDATE_INTERVAL_SECONDS_MAX = 1_209_600;

/** URLs and tokens of channels are secrets, so they are in environment variables. */
const Webhook = closedObject({
  url_env: described(text("variableName"), "The environment variable with the URL."),
  secret_env: described(
    Type.Optional(text("variableName")),
    "The environment variable with the key that signs each request. Without it requests are not signed.",
  ),
});
const Slack = closedObject({
  url_env: described(text("variableName"), "The environment variable with the URL of a Slack incoming webhook."),
});
const Telegram = closedObject({
  token_env: described(text("variableName"), "The environment variable with the token of the bot."),
  chat_id: described(Type.String({ minLength: 1 }), "The chat, as text: write a number in quotes."),
});
const Email = closedObject({
  host: described(Type.String({ minLength: 1 }), "The SMTP server."),
  port: described(integer(1, 0xffff, 587), "The port of the SMTP server."),
  security: described(
    Type.Unsafe<"starttls" | "tls" | "none">({
      ...oneOf("starttls", "tls", "none"),
      default: "starttls",
    }),
    "How the connection is encrypted. With `starttls` nothing is sent to a server that does not offer it.",
  ),
  from: described(text("mailAddress"), "The sender."),
  to: described(list(text("mailAddress"), NOTIFY_RECIPIENTS_MAX, { atLeastOne: true }), "The recipients."),
  username_env: described(
    Type.Optional(text("variableName")),
    "The environment variable with the user name. Only with `password_env`.",
  ),
  password_env: described(
    Type.Optional(text("variableName")),
    "The environment variable with the password. Only with `username_env`.",
  ),
});
const Exec = closedObject({
  command: described(
    text("absolutePath"),
    "A program that is run for each event, without arguments, with the event as JSON on its standard input.",
  ),
  timeout_seconds: described(integer(1, 300, 10), "How long the program may run before it is killed."),
});

const Teams = closedObject({
  url_env: described(
    text("variableName"),
    "The environment variable with the URL of a workflow that posts to a channel when a webhook request is received.",
  ),
});
const Pagerduty = closedObject({
  key_env: described(text("variableName"), "The environment variable with the integration key (Events API v2)."),
  url: described(text("httpUrl", { default: PAGERDUTY_URL }), "The service region's address."),
});
const Opsgenie = closedObject({
  key_env: described(text("variableName"), "The environment variable with the key of an API integration."),
  url: described(text("httpUrl", { default: OPSGENIE_URL }), "The region's address."),
});
const Alertmanager = closedObject({
  url: described(text("httpUrl"), "The address of Alertmanager, with its path prefix if it has one."),
  token_env: described(Type.Optional(text("variableName")), "The environment variable with a bearer token."),
});
const Syslog = closedObject({
  host: described(Type.String({ minLength: 1 }), "The receiver: a name, for `tls` one that its certificate has."),
  port: described(integer(1, 0xffff, 6514), "The port of the receiver."),
  transport: described(
    Type.Unsafe<"tls" | "tcp">({ ...oneOf("tls", "tcp"), default: "tls" }),
    "`tls` (RFC 5425), or `tcp` without encryption (RFC 6587).",
  ),
  facility: described(
    Type.Unsafe<keyof typeof FACILITIES>({
      ...oneOf("daemon", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"),
      default: "daemon",
    }),
    "The facility of the messages (RFC 5424).",
  ),
});

const KINDS = {
  webhook: described(Type.Optional(Webhook), "Sends each event as JSON by an HTTP POST request."),
  slack: described(Type.Optional(Slack), "Sends messages to Slack."),
  telegram: described(Type.Optional(Telegram), "Sends messages to a Telegram chat."),
  email: described(Type.Optional(Email), "Sends messages by mail."),
  exec: described(Type.Optional(Exec), "Runs a program for each event."),
};

const Target = closedObject({
  name: described(text("targetName"), "The name by which routes refer to it. Each may be used once."),
  ...KINDS,
  teams: described(Type.Optional(Teams), "Sends messages to a channel of Microsoft Teams."),
  pagerduty: described(Type.Optional(Pagerduty), "Opens, changes and resolves alerts at PagerDuty."),
  opsgenie: described(Type.Optional(Opsgenie), "Opens, changes and closes alerts at Opsgenie."),
  alertmanager: described(Type.Optional(Alertmanager), "Sends alerts to a Prometheus Alertmanager."),
  template: described(
    Type.Optional(Type.String({ minLength: 1 })),
    "The text of each event in messages for people, whose first line is the headline: `{{name}}` is a value of the event, `{{#name}}…{{/name}}` is there with the value, `{{^name}}…{{/name}}` without it. With `slack`, `teams`, `telegram` and `email`.",
    { ifAbsent: "the text of the service" },
  ),
  syslog: described(Type.Optional(Syslog), "Sends each event as a syslog message with the JSON of the webhook."),
});
type TargetFile = Static<typeof Target>;

export const NotifySection = described(
  closedObject({
    ...KINDS,
    targets: described(
      Type.Optional(Type.Array(Target, { maxItems: NOTIFY_TARGETS_MAX })),
      "Further targets, each of one kind: several of a kind may be listed. The channels above are targets too, by the names of their kinds.",
    ),
    routes: described(
      Type.Optional(Type.Array(Route, { maxItems: NOTIFY_ROUTES_MAX })),
      "Which events go to which targets, as a tree of at most 256 routes. Routes are read from the first on; the first whose conditions all match takes the event, and within it the first of its own `routes` that matches. An event that no route takes goes to no target.",
      { ifAbsent: "each event but those of orders goes to all targets" },
    ),
    time_zone: described(
      text("timeZone", { default: "UTC" }),
      "The time zone of days and hours in `routes`, with its daylight saving.",
    ),
    tenant_targets: described(Type.Optional(TenantTargets), "Targets that tenants set themselves by the API.", {
      ifAbsent: "tenants set none",
    }),
    page_url: described(
      Type.Optional(text("httpUrl")),
      "Where people reach the dashboard: messages have links to the page of the attack.",
    ),
  }),
  "The receivers of notifications about attacks, bans, faults and orders. URLs and secrets are in environment variables, which are read at each delivery.",
  {
    examples: [
      {
        webhook: { url_env: "FLOODWALL_WEBHOOK_URL", secret_env: "FLOODWALL_WEBHOOK_SECRET" },
        slack: { url_env: "FLOODWALL_SLACK_URL" },
        telegram: { token_env: "FLOODWALL_TELEGRAM_TOKEN", chat_id: "-1000" },
        email: { host: "mail.example.net", from: "floodwall@example.net", to: ["noc@example.net"] },
        exec: { command: "/usr/local/bin/on-event" },
      },
      {
        page_url: "https://floodwall.example.net",
        time_zone: "Europe/Berlin",
        tenant_targets: {
          kinds: ["webhook", "slack"],
          hosts: ["hooks.slack.com", "*.acme.example"],
          private_networks: ["10.20.0.0/16"],
          tenants: [{ tenant: "acme", hosts: ["alerts.example.net:9093"], private_networks: ["10.21.0.0/16"] }],
          nat64_prefixes: ["2001:db8:64::/96"],
        },
        targets: [
          {
            name: "on-call",
            pagerduty: { key_env: "FLOODWALL_PAGERDUTY_KEY", url: "https://events.eu.pagerduty.com" },
          },
          {
            name: "noc",
            slack: { url_env: "FLOODWALL_SLACK_URL" },
            template: "{{severity}}: {{headline}}\n{{#target}}Target {{target}} of {{hostgroup}}{{/target}}\n{{link}}",
          },
          { name: "siem", syslog: { host: "siem.example.net", transport: "tcp", port: 601, facility: "local0" } },
          {
            name: "acme",
            email: {
              host: "mail.example.net",
              port: 465,
              security: "tls",
              from: "a@example.net",
              to: ["b@example.net"],
            },
          },
          { name: "script", exec: { command: "/usr/local/bin/on-event", timeout_seconds: 60 } },
          { name: "other-call", opsgenie: { key_env: "FLOODWALL_OPSGENIE_KEY", url: "https://api.eu.opsgenie.com" } },
        ],
        routes: [
          { targets: ["siem"], continue: true },
          {
            severity: "warning",
            targets: ["noc"],
            group_seconds: 30,
            quiet: [{ days: ["saturday", "sunday"], hours: "22:00-06:00" }],
            routes: [{ severity: "critical", targets: ["on-call", "noc"], repeat_minutes: 30, quiet: [] }],
          },
        ],
      },
    ],
  },
);

export const UpdateCheckSection = described(
  defaultedObject({
    enabled: described(boolean(false), "Whether `url` is queried for a newer release."),
    url: described(
      Type.Optional(text("httpUrl")),
      'Required when enabled. The answer is `{"version": "1.4.0", "url": "https://…", "security": false}`, at most 64 KiB.',
    ),
    interval_seconds: described(
      integer(60, UPDATE_INTERVAL_SECONDS_MAX, 21_600),
      "The time between two requests; each varies by a tenth.",
    ),
  }),
  "Queries a URL for a newer release. The request carries nothing but the name of the product.",
  { examples: [{ enabled: true, url: "https://releases.example.net/floodwall.json" }] },
);

export function buildNotify(file: Static<typeof NotifySection> = { time_zone: "UTC" }): NotifyConfig {
  const { targets = [], routes, time_zone: zone, page_url: pageUrl, tenant_targets: tenantTargets, ...channels } = file;
  const own = TARGET_KINDS.flatMap((kind) => (kind in channels ? [{ name: kind, ...pick(channels, kind) }] : []));
  return {
    targets: [
      ...own.map((target) => buildTarget(target, ["notify"])),
      ...targets.map((target, i) => buildTarget(target, ["notify", "targets", i])),
    ],
    routes: routes === undefined ? null : buildRoutes(routes, zone),
    pageUrl: pageUrl ?? null,
    tenantTargets: tenantTargets === undefined ? null : buildTenantTargets(tenantTargets),
  };
}

function pick<K extends keyof TargetFile>(file: Partial<TargetFile>, kind: K): Partial<TargetFile> {
  return { [kind]: file[kind] };
}

/** A rule between the keys reports targets that are not of one kind. */
function buildTarget({ name, template, ...file }: TargetFile, path: ConfigPath): NotifyTarget {
  const settings = settingsOf(file);
  return { name, place: [...path, settings.kind], settings, template: buildTemplate(template) };
}

/** A rule between the keys reports what is no template. */
function buildTemplate(text: string | undefined): Template | null {
  const parsed = text === undefined ? null : parseTemplate(text, TEMPLATE_NAMES);
  return parsed?.kind === "template" ? parsed.template : null;
}

function settingsOf(file: Omit<TargetFile, "name">): TargetSettings {
  const { webhook, slack, teams, telegram, email, exec, pagerduty, opsgenie, alertmanager, syslog } = file;
  if (webhook !== undefined) return { kind: "webhook", urlEnv: webhook.url_env, secretEnv: webhook.secret_env ?? null };
  if (slack !== undefined) return { kind: "slack", urlEnv: slack.url_env };
  if (teams !== undefined) return { kind: "teams", urlEnv: teams.url_env };
  if (telegram !== undefined) return { kind: "telegram", tokenEnv: telegram.token_env, chatId: telegram.chat_id };
  if (email !== undefined) return buildEmail(email);
  if (exec !== undefined) return { kind: "exec", command: exec.command, timeoutSeconds: exec.timeout_seconds };
  if (pagerduty !== undefined) return { kind: "pagerduty", keyEnv: pagerduty.key_env, url: pagerduty.url };
  if (opsgenie !== undefined) return { kind: "opsgenie", keyEnv: opsgenie.key_env, url: opsgenie.url };
  if (alertmanager !== undefined)
    return { kind: "alertmanager", url: alertmanager.url, tokenEnv: alertmanager.token_env ?? null };
  if (syslog !== undefined) return { kind: "syslog", ...syslog, facility: FACILITIES[syslog.facility] };
  throw new Error("a target without a kind");
}

function buildEmail(file: Static<typeof Email>): EmailConfig {
  const { username_env: usernameEnv, password_env: passwordEnv, ...rest } = file;
  return { kind: "email", ...rest, usernameEnv: usernameEnv ?? null, passwordEnv: passwordEnv ?? null };
}

/** A rule between the keys reports `enabled` without a URL. */
export function buildUpdateCheck(file: Static<typeof UpdateCheckSection>): UpdateCheckConfig {
  return { url: file.enabled ? (file.url ?? null) : null, intervalSeconds: file.interval_seconds };
}
