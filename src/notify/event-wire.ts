/** An event as JSON for programs; attacks and bans have the format of the API (docs/interface.md#attack). */
import { type AttackWire, attackToWire } from "../http/wire/attack.ts";
import { type BanWire, banToWire } from "../http/wire/ban.ts";
import type { Ban } from "../mitigation/ban.ts";
import { timestamp } from "../schema/timestamp.ts";
import type { Severity } from "../targets/target-words.ts";
import { CONDITIONS, type Condition, conditionOf } from "./condition.ts";
import type {
  CapReached,
  FaultyCluster,
  FaultyExporter,
  FaultyFile,
  FaultyScrubNode,
  LeftProblem,
  Neighbor,
  NotifyEvent,
} from "./event.ts";
import type { Orders, OrderType } from "./order-notices.ts";
import { adviceOf, severityOf } from "./severity.ts";

export interface EventWire {
  readonly id: string;
  readonly event: NotifyEvent["kind"];
  readonly at: string;
  /** The machine that sends the event. */
  readonly instance: string;
  readonly dry_run: boolean;
  readonly severity: Severity;
  /** Hostgroup of the attacked or banned address. */
  readonly hostgroup?: string;
  readonly tenant?: string;
  /** To the page of the dashboard. */
  readonly link?: string;
  readonly advice?: string;
  readonly attack?: AttackWire;
  readonly ban?: Omit<BanWire, "announced">;
  readonly bgp_session?: { readonly address: string; readonly remote_asn: number; readonly state: string };
  readonly cap?: CapReached;
  readonly exporter?: FaultyExporter;
  readonly scrub_node?: FaultyScrubNode;
  readonly file?: FaultyFile;
  readonly cluster?: FaultyCluster;
  readonly condition?: Condition;
  readonly orders?: OrdersWire;
  /** The problem is of another tenant, or of none, from now on. */
  readonly left?: LeftProblem;
  readonly joined?: { readonly counts: Readonly<Record<string, number>>; readonly since: string };
  readonly state_database?: {
    readonly reason: string;
    readonly moved_to: string;
    readonly salvaged: Readonly<Record<string, number>>;
  };
}

interface OrdersWire {
  readonly type: Orders["type"];
  readonly count: number;
  /** The first of them. */
  readonly targets: readonly string[];
  readonly operator?: string;
  readonly reason?: string;
  readonly end?: string;
  readonly expires_at?: string;
}

/** The machine that sends. */
export interface WireContext {
  readonly instance: string;
  /** Where people reach the dashboard; null: there are no links. */
  readonly pageUrl: string | null;
}

export function eventToWire(event: NotifyEvent, { instance, pageUrl }: WireContext): EventWire {
  const { id, kind, atMs, dryRun, group, tenant } = event;
  const [link, advice] = [linkOf(event, pageUrl), adviceOf(event)];
  return {
    ...{ id, event: kind, at: timestamp(atMs), instance, dry_run: dryRun, severity: severityOf(event) },
    ...(group === null ? {} : { hostgroup: group }),
    ...(tenant === null ? {} : { tenant }),
    ...(link === null ? {} : { link }),
    ...(advice === null ? {} : { advice }),
    ...subject(event),
  };
}

/** null: without `notify.page_url`. */
export function linkOf(event: NotifyEvent, pageUrl: string | null): string | null {
  if (pageUrl === null) return null;
  return `${pageUrl.replace(/\/$/, "")}/#/${viewOf(event)}`;
}

/** The path of the dashboard's view. */
function viewOf(event: NotifyEvent): string {
  if ("attack" in event) return `attacks/${encodeURIComponent(event.attack.id)}`;
  if ("ban" in event) return "bans";
  if ("exporter" in event) return "telemetry";
  if ("scrubNode" in event) return "scrub";
  if ("condition" in event) return CONDITIONS[conditionOf(event.kind)].view;
  if ("orders" in event) return ORDER_VIEWS[event.orders.type];
  return "";
}

const ORDER_VIEWS: Readonly<Record<OrderType, string>> = {
  ...{ source_block: "mitigation", filter_rule: "mitigation", protection: "mitigation" },
  ...{ lever: "edge", ban: "mitigation", maintenance: "mitigation" },
};

type Common = "id" | "event" | "at" | "instance" | "dry_run" | "severity" | "hostgroup" | "tenant" | "link" | "advice";

function subject(event: NotifyEvent): Omit<EventWire, Common> {
  if ("condition" in event) return { condition: event.condition };
  switch (event.kind) {
    case "attack_started":
    case "attack_changed":
    case "attack_lasts":
    case "attack_not_held":
    case "attack_ended": {
      const { attack, ban } = event;
      return { attack: attackToWire({ attack, ban }), ...(ban === null ? {} : { ban: banRow(ban) }) };
    }
    case "ban_active":
    case "ban_withdrawn":
    case "ban_rejected":
    case "rules_not_found":
      return { ban: banRow(event.ban) };
    case "bgp_session_lost":
    case "bgp_session_restored":
      return { bgp_session: sessionToWire(event.neighbor) };
    case "state_damaged": {
      const { reason, movedTo, salvaged } = event.damage;
      return { state_database: { reason, moved_to: movedTo, salvaged } };
    }
    case "cap_reached":
      return { cap: event.cap };
    case "exporter_fault":
    case "exporter_fault_over":
      return { exporter: event.exporter };
    case "scrub_node_fault":
    case "scrub_node_fault_over":
      return { scrub_node: event.scrubNode };
    case "file_fault":
    case "file_fault_over":
      return { file: event.file };
    case "cluster_fault":
    case "cluster_fault_over":
      return { cluster: event.cluster };
    case "order_made":
    case "order_changed":
    case "order_ended":
      return { orders: ordersToWire(event.orders) };
    case "owner_changed":
      return { left: event.left };
    case "events_joined":
      return { joined: { counts: event.joined.counts, since: timestamp(event.joined.sinceMs) } };
    case "test":
      return {};
    default:
      return event satisfies never;
  }
}

function sessionToWire({ address, remoteAsn, state }: Neighbor): NonNullable<EventWire["bgp_session"]> {
  return { address, remote_asn: remoteAsn, state };
}

function ordersToWire({ type, count, targets, operator, reason, end, expiresAt }: Orders): OrdersWire {
  return {
    ...{ type, count, targets },
    ...(operator === "" ? {} : { operator }),
    ...(reason === "" ? {} : { reason }),
    ...(end === "" ? {} : { end }),
    ...(expiresAt === null ? {} : { expires_at: timestamp(expiresAt) }),
  };
}

/** Without the announcement state, which changes moments later. */
function banRow(ban: Ban): Omit<BanWire, "announced"> {
  const { announced: _, ...row } = banToWire({ ban, routeState: null });
  return row;
}
