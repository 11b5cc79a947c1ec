/** Events of one problem have one key, from its begin to its end: receivers join them by it. */
import { CONDITIONS, conditionOf, isConditionEnd } from "./condition.ts";
import type { NotifyEvent } from "./event.ts";

interface Problem {
  readonly key: string;
  readonly isOver: boolean;
}

/** null: the event is a moment, and no end follows it. */
export function problemOf(event: NotifyEvent): Problem | null {
  if ("condition" in event)
    return { key: `${conditionOf(event.kind)} ${event.condition.name}`, isOver: isConditionEnd(event.kind) };
  switch (event.kind) {
    case "attack_started":
    case "attack_changed":
    case "attack_lasts":
    case "attack_not_held":
    case "attack_ended":
      return { key: `attack ${event.attack.id}`, isOver: event.kind === "attack_ended" };
    case "ban_active":
    case "ban_withdrawn":
      return { key: `ban ${event.ban.id}`, isOver: event.kind === "ban_withdrawn" };
    case "bgp_session_lost":
    case "bgp_session_restored":
      return { key: `bgp session ${event.neighbor.address}`, isOver: event.kind === "bgp_session_restored" };
    case "exporter_fault":
    case "exporter_fault_over":
      return {
        key: `exporter ${event.exporter.address} ${event.exporter.fault}`,
        isOver: event.kind === "exporter_fault_over",
      };
    case "scrub_node_fault":
    case "scrub_node_fault_over":
      return { key: `scrub node ${event.scrubNode.name}`, isOver: event.kind === "scrub_node_fault_over" };
    case "file_fault":
    case "file_fault_over":
      return { key: `file ${event.file.key}`, isOver: event.kind === "file_fault_over" };
    case "cluster_fault":
    case "cluster_fault_over":
      return {
        key: `cluster ${event.cluster.brain} ${event.cluster.fault}`,
        isOver: event.kind === "cluster_fault_over",
      };
    case "rules_not_found":
      // Its alert ends with the attack.
      return event.ban.attackId === null ? null : { key: `attack ${event.ban.attackId}`, isOver: false };
    case "owner_changed":
      return { key: `${event.left.type} ${event.left.id}`, isOver: true };
    case "ban_rejected":
    case "events_joined":
    case "order_made":
    case "order_changed":
    case "order_ended":
    case "state_damaged":
    case "cap_reached":
    case "test":
      return null;
    default:
      return event satisfies never;
  }
}

/**
 * Whether it is for services that keep an alert open until its end: of a ban, the alert of its attack says it, and in the
 * course of a diversion that works nothing has to be done.
 */
export function isForAlerts(event: NotifyEvent): boolean {
  if ("condition" in event) return CONDITIONS[conditionOf(event.kind)].severity !== "info";
  if (event.kind === "owner_changed") return event.left.type !== "ban";
  return event.kind !== "ban_active" && event.kind !== "ban_withdrawn";
}
