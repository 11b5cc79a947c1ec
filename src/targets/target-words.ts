/** The words for events and targets of notifications that configurations, orders and records have in common. */

/** Each event is of one of these kinds. */
export const EVENT_KINDS = [
  "attack_started",
  "attack_changed",
  "attack_lasts",
  "attack_not_held",
  "attack_ended",
  "ban_active",
  "ban_withdrawn",
  "ban_rejected",
  "rules_not_found",
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
  "scrub_node_lost",
  "scrub_node_found",
  "edge_node_lost",
  "edge_node_found",
  "edge_node_fault",
  "edge_node_fault_over",
  "capture_lost",
  "capture_restored",
  "capture_losing",
  "capture_losing_over",
  "speaker_down",
  "speaker_up",
  "disk_nearly_full",
  "disk_nearly_full_over",
  "diversion_begun",
  "diversion_ended",
  "diversion_confirmed",
  "diversion_unconfirmed",
  "diversion_lost",
  "diversion_lost_over",
  "diversion_failed",
  "diversion_failed_over",
  "diversion_stuck",
  "diversion_stuck_over",
  "order_made",
  "order_changed",
  "order_ended",
  "owner_changed",
  "events_joined",
  "test",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** The least urgent first. */
export const SEVERITIES = ["info", "warning", "critical"] as const;
export type Severity = (typeof SEVERITIES)[number];

export const TARGET_KINDS = [
  ...(["webhook", "slack", "telegram", "email", "exec"] as const),
  ...(["teams", "pagerduty", "opsgenie", "alertmanager", "syslog"] as const),
];
export type TargetKind = (typeof TARGET_KINDS)[number];

/** Kinds that tenants may be allowed: those that are reached by HTTP, at a host that can be checked. */
export const TENANT_KINDS = ["webhook", "slack", "teams", "telegram", "pagerduty", "opsgenie", "alertmanager"] as const;
export type TenantKind = (typeof TENANT_KINDS)[number];
