/** How urgent an event is, and what a person can do about it. */
import { attackRate } from "../detection/attack/attack.ts";
import { type EventKind, SEVERITIES, type Severity } from "../targets/target-words.ts";
import { CONDITIONS, conditionOf, isConditionEnd } from "./condition.ts";
import type { NotifyEvent } from "./event.ts";

/** An attack of as many times its threshold is critical. */
const CRITICAL_TIMES = 10;

export function severityOf(event: NotifyEvent): Severity {
  if ("condition" in event) return isConditionEnd(event.kind) ? "info" : CONDITIONS[conditionOf(event.kind)].severity;
  switch (event.kind) {
    case "attack_started":
    case "attack_changed":
    case "attack_lasts": {
      const { attack, ban } = event;
      const isMitigated = ban !== null && ban.state === "active";
      return isMitigated && attackRate(attack) < CRITICAL_TIMES * attack.threshold ? "warning" : "critical";
    }
    case "rules_not_found":
      return event.ban.fallback === null ? "critical" : "warning";
    case "events_joined":
      return event.joined.severity;
    default:
      return worstSeverityOf(event.kind);
  }
}

/** Of events of the kind, the most urgent: most kinds have one alone. */
export function worstSeverityOf(kind: EventKind): Severity {
  switch (kind) {
    case "attack_started":
    case "attack_changed":
    case "attack_lasts":
    case "rules_not_found":
    case "events_joined":
    case "attack_not_held":
    case "bgp_session_lost":
    case "scrub_node_fault":
    case "cluster_fault":
    case "state_damaged":
    case "cap_reached":
    case "ban_rejected":
      return "critical";
    case "exporter_fault":
    case "file_fault":
      return "warning";
    case "attack_ended":
    case "ban_active":
    case "ban_withdrawn":
    case "bgp_session_restored":
    case "exporter_fault_over":
    case "scrub_node_fault_over":
    case "file_fault_over":
    case "cluster_fault_over":
    case "order_made":
    case "order_changed":
    case "order_ended":
    case "owner_changed":
    case "test":
      return "info";
    default:
      return isConditionEnd(kind) ? "info" : CONDITIONS[conditionOf(kind)].severity;
  }
}

export function isAtLeast(severity: Severity, least: Severity): boolean {
  return SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(least);
}

/** null: there is nothing to do. */
export function adviceOf(event: NotifyEvent): string | null {
  if ("condition" in event) return isConditionEnd(event.kind) ? null : CONDITIONS[conditionOf(event.kind)].advice;
  switch (event.kind) {
    case "attack_started":
    case "attack_changed":
    case "attack_lasts":
      return event.ban === null || event.ban.state !== "active"
        ? "No ban is in force: look at the attack's page and decide"
        : "See on the attack's page whether the rest is below the threshold";
    case "attack_not_held":
      return "Choose a stricter profile, or ban by a blackhole or a divert";
    case "rules_not_found":
      return "See on the attack's page whether what is done in place of rules is enough";
    case "ban_rejected":
      return "The attack goes on without a ban: see the reason, and ban by hand if it is right";
    case "bgp_session_lost":
      return "Routes to this neighbor are not announced: look at the session at both ends";
    case "scrub_node_fault":
      return "Look at the log of the scrub node";
    case "state_damaged":
      return "Compare the bans in force with your routers";
    case "cap_reached":
      return "Raise the cap, or ban a prefix";
    case "events_joined":
      return "See all of them on the dashboard";
    case "exporter_fault":
    case "cluster_fault":
      return null;
    case "file_fault":
      return "Mend or replace the file: it is read again by itself";
    case "attack_ended":
    case "ban_active":
    case "ban_withdrawn":
    case "bgp_session_restored":
    case "exporter_fault_over":
    case "scrub_node_fault_over":
    case "file_fault_over":
    case "cluster_fault_over":
    case "order_made":
    case "order_changed":
    case "order_ended":
    case "owner_changed":
    case "test":
      return null;
    default:
      return event satisfies never;
  }
}
