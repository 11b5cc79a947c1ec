/** What the section `notify` says: the targets, and which events go to which of them. */
import type { ConfigPath } from "../schema/problem.ts";

/** Each event is of one of these kinds. */
export const EVENT_KINDS = [
  "attack_started",
  "attack_changed",
  "attack_lasts",
  "attack_ended",
  "ban_active",
  "ban_withdrawn",
  "ban_rejected",
  "cap_reached",
  "bgp_session_lost",
  "bgp_session_restored",
  "state_damaged",
  "exporter_fault",
  "exporter_fault_over",
  "scrub_node_fault",
  "scrub_node_fault_over",
  "file_fault",
  "file_fault_over",
  "cluster_fault",
  "cluster_fault_over",
  "test",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** The least urgent first. */
export const SEVERITIES = ["info", "warning", "critical"] as const;
export type Severity = (typeof SEVERITIES)[number];

export const PAGERDUTY_URL = "https://events.pagerduty.com";
export const OPSGENIE_URL = "https://api.opsgenie.com";

export interface NotifyConfig {
  readonly targets: readonly NotifyTarget[];
  /** Read from the first on. null: each event goes to all targets. */
  readonly routes: readonly NotifyRoute[] | null;
  /** Where people reach the dashboard, for links; null: there are none. */
  readonly pageUrl: string | null;
}

export interface NotifyTarget {
  /** Unique. */
  readonly name: string;
  /** The keys of its settings in the configuration. */
  readonly place: ConfigPath;
  readonly settings: TargetSettings;
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

export type TargetKind = TargetSettings["kind"];

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

export interface NotifyRoute {
  readonly match: RouteMatch;
  /** Names; empty: such events go to no target. */
  readonly targets: readonly string[];
  /** Whether later routes are read too. */
  readonly continues: boolean;
  /** An attack that lasts is repeated after this time; null: it is not. */
  readonly repeatMs: number | null;
}

/** Absent conditions hold for each event. */
export interface RouteMatch {
  readonly tenants?: ReadonlySet<string>;
  readonly hostgroups?: ReadonlySet<string>;
  readonly events?: ReadonlySet<EventKind>;
  readonly severity?: Severity;
  /** Of attacks and bans; of others this does not hold. */
  readonly minPps?: number;
  readonly minMbps?: number;
  readonly hours?: Hours;
}

/** A part of the day, UTC, in minutes since midnight; it goes over midnight where `to` is not after `from`. */
export interface Hours {
  /** 0 is Sunday: the day on which the part begins. */
  readonly days: ReadonlySet<number>;
  readonly from: number;
  readonly to: number;
}
