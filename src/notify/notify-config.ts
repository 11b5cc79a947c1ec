/** The section `notify`: the targets, and which events go to which of them. */

import type { Template } from "../schema/message-template.ts";
import type { ConfigPath } from "../schema/problem.ts";
import type { EventKind, Severity, TargetKind } from "../targets/target-words.ts";
import type { TenantTargetRules } from "../targets/tenant-target.ts";

/** Kinds of targets whose messages people read. */
export const KINDS_FOR_PEOPLE = ["slack", "teams", "telegram", "email"] as const satisfies readonly TargetKind[];

/** Values of an event that templates may use. */
const TEMPLATE_VALUE_NAMES = [
  "event",
  "id",
  "severity",
  "headline",
  "details",
  "advice",
  "link",
  "instance",
  "time",
  "dry_run",
  "tenant",
  "hostgroup",
  "target",
  "direction",
  "vector",
  "metric",
  "rate",
  "threshold",
  "pps",
  "mbps",
  "started",
  "duration",
  "ban_state",
  "ban_method",
  "name",
] as const;
export type TemplateName = (typeof TEMPLATE_VALUE_NAMES)[number];
export const TEMPLATE_NAMES: ReadonlySet<string> = new Set(TEMPLATE_VALUE_NAMES);

export const PAGERDUTY_URL = "https://events.pagerduty.com";
export const OPSGENIE_URL = "https://api.opsgenie.com";

/** Alertmanager ends an alert by itself at this time, unless it gets the alert again. */
export const ALERT_LASTS_MS = 86_400_000;

export interface NotifyConfig {
  readonly targets: readonly NotifyTarget[];
  /** Read from the first on, each down to its innermost route. null: each event but those of orders goes to all targets. */
  readonly routes: readonly NotifyRoute[] | null;
  /** Where people reach the dashboard, for links; null: there are none. */
  readonly pageUrl: string | null;
  /** null: tenants set no targets of their own. */
  readonly tenantTargets: TenantTargetRules | null;
}

export interface NotifyTarget {
  /** Unique. */
  readonly name: string;
  /** The keys of its settings in the configuration. */
  readonly place: ConfigPath;
  readonly settings: TargetSettings;
  /** Template of messages for people; null: the texts are those of the service. */
  readonly template: Template | null;
}

export type TargetSettings =
  | WebhookConfig
  | { readonly kind: "slack" | "teams"; readonly urlEnv: string }
  | TelegramConfig
  | EmailConfig
  | ExecConfig
  | { readonly kind: "pagerduty" | "opsgenie"; readonly keyEnv: string; readonly url: string }
  | AlertmanagerConfig
  | SyslogConfig;

export interface WebhookConfig {
  readonly kind: "webhook";
  readonly urlEnv: string;
  readonly secretEnv: string | null;
}

export interface TelegramConfig {
  readonly kind: "telegram";
  readonly tokenEnv: string;
  readonly chatId: string;
}

export interface EmailConfig {
  readonly kind: "email";
  readonly host: string;
  readonly port: number;
  readonly security: "starttls" | "tls" | "none";
  readonly from: string;
  readonly to: readonly string[];
  readonly usernameEnv: string | null;
  readonly passwordEnv: string | null;
}

export interface ExecConfig {
  readonly kind: "exec";
  readonly command: string;
  readonly timeoutSeconds: number;
}

export interface AlertmanagerConfig {
  readonly kind: "alertmanager";
  readonly url: string;
  /** The bearer token; null: none is sent. */
  readonly tokenEnv: string | null;
}

export interface SyslogConfig {
  readonly kind: "syslog";
  readonly host: string;
  readonly port: number;
  readonly transport: "tls" | "tcp";
  /** RFC 5424, 6.2.1. */
  readonly facility: number;
}

/** A route has in it the keys that it inherits of the one around it. */
export interface NotifyRoute {
  /** The keys of it in the configuration. */
  readonly place: ConfigPath;
  readonly match: RouteMatch;
  /** Names; empty: such events go to no target. */
  readonly targets: readonly string[];
  /** Whether later routes beside it are read too. */
  readonly continues: boolean;
  /** An attack that lasts is repeated after this time; null: it is not. */
  readonly repeatMs: number | null;
  /** Messages for people wait this long for further events; null: as long as those without routes. */
  readonly groupMs: number | null;
  /** When it sends nothing: what begins then and lasts longer is sent afterwards. */
  readonly quiet: readonly Hours[];
  /** Within it: the first that takes the event decides in its place. */
  readonly routes: readonly NotifyRoute[];
}

/** Absent conditions hold for each event. */
export interface RouteMatch {
  readonly tenants?: ReadonlySet<string>;
  readonly hostgroups?: ReadonlySet<string>;
  readonly events?: ReadonlySet<EventKind>;
  readonly severity?: Severity;
  /** For attacks and bans; others are not compared with it. */
  readonly minPps?: number;
  readonly minMbps?: number;
  readonly hours?: Hours;
}

/** A part of the day, in minutes since midnight; it goes over midnight where `to` is not after `from`. */
export interface Hours {
  /** The time zone of days and minutes, by its name in the IANA database. */
  readonly zone: string;
  /** 0 is Sunday: the day on which the part begins. */
  readonly days: ReadonlySet<number>;
  readonly from: number;
  readonly to: number;
}
