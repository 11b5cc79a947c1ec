/** How urgent an event is, and what a person can do about it. */
import { attackRate } from "../detection/attack/attack.ts";
import { type EventKind, SEVERITIES, type Severity } from "../targets/target-words.ts";
import { CONDITIONS, type ConditionEnd, type ConditionKind, conditionOf, isConditionEnd } from "./condition.ts";
import type { NotifyEvent } from "./event.ts";

/** An attack of as many times its threshold is critical. */
const CRITICAL_TIMES = 10;

interface KindTraits {
  /** The most urgent of the events of the kind: most kinds have one alone. */
  readonly worst: Severity;
  /** null: there is nothing to do, or it depends on the event. */
  readonly advice: string | null;
}

const INFO: KindTraits = { worst: "info", advice: null };
type PlainKind = Exclude<EventKind, ConditionKind | ConditionEnd>;
/** All kinds but those of conditions, which have a table of their own. */
const KINDS: Readonly<Record<PlainKind, KindTraits>> = {
  attack_started: { worst: "critical", advice: null },
  attack_changed: { worst: "critical", advice: null },
  attack_lasts: { worst: "critical", advice: null },
  attack_not_held: { worst: "critical", advice: "Choose a stricter profile, or ban by a blackhole or a divert" },
  attack_ended: INFO,
  ban_active: INFO,
  ban_withdrawn: INFO,
  ban_rejected: {
    worst: "critical",
    advice: "The attack goes on without a ban: see the reason, and ban by hand if it is right",
  },
  rules_not_found: {
    worst: "critical",
    advice: "See on the attack's page whether what is done in place of rules is enough",
  },
  cap_reached: { worst: "critical", advice: "Raise the cap, or ban a prefix" },
  bgp_session_lost: {
    worst: "critical",
    advice: "Routes to this neighbor are not announced: look at the session at both ends",
  },
  bgp_session_restored: INFO,
  state_damaged: { worst: "critical", advice: "Compare the bans in force with your routers" },
  exporter_fault: { worst: "warning", advice: null },
  exporter_fault_over: INFO,
  scrub_node_fault: { worst: "critical", advice: "Look at the log of the scrub node" },
  scrub_node_fault_over: INFO,
  file_fault: { worst: "warning", advice: "Mend or replace the file: it is read again by itself" },
  file_fault_over: INFO,
  cluster_fault: { worst: "critical", advice: null },
  cluster_fault_over: INFO,
  order_made: INFO,
  order_changed: INFO,
  order_ended: INFO,
  owner_changed: INFO,
  events_joined: { worst: "critical", advice: "See all of them on the dashboard" },
  test: INFO,
};

export function severityOf(event: NotifyEvent): Severity {
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

/** The most urgent of the events of the kind. */
export function worstSeverityOf(kind: EventKind): Severity {
  return traitsOf(kind).worst;
}

export function isAtLeast(severity: Severity, least: Severity): boolean {
  return SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(least);
}

/** null: there is nothing to do. */
export function adviceOf(event: NotifyEvent): string | null {
  switch (event.kind) {
    case "attack_started":
    case "attack_changed":
    case "attack_lasts":
      return event.ban === null || event.ban.state !== "active"
        ? "No ban is in force: look at the attack's page and decide"
        : "See on the attack's page whether the rest is below the threshold";
    case "exporter_fault":
      return event.exporter.remedy || null;
    case "cluster_fault":
      return event.cluster.remedy || null;
    default:
      return traitsOf(event.kind).advice;
  }
}

function traitsOf(kind: EventKind): KindTraits {
  if (isPlain(kind)) return KINDS[kind];
  if (isConditionEnd(kind)) return INFO;
  const { severity, advice } = CONDITIONS[conditionOf(kind)];
  return { worst: severity, advice };
}

function isPlain(kind: EventKind): kind is PlainKind {
  return Object.hasOwn(KINDS, kind);
}
