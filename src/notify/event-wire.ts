/** An event as JSON for programs; attacks and bans have the format of the API (docs/interface.md#attack). */
import { type AttackWire, attackToWire } from "../http/wire/attack.ts";
import { type BanWire, banToWire } from "../http/wire/ban.ts";
import type { Ban } from "../mitigation/ban.ts";
import { timestamp } from "../schema/timestamp.ts";
import type { CapReached, FaultyCluster, FaultyExporter, FaultyFile, FaultyScrubNode, NotifyEvent } from "./event.ts";
import type { Severity } from "./notify-config.ts";
import { adviceOf, severityOf } from "./severity.ts";

export interface EventWire {
  readonly id: string;
  readonly event: NotifyEvent["kind"];
  readonly at: string;
  /** The machine that sends the event. */
  readonly instance: string;
  readonly dry_run: boolean;
  readonly severity: Severity;
  /** Of the attacked or banned address. */
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
  readonly state_database?: {
    readonly reason: string;
    readonly moved_to: string;
    readonly salvaged: Readonly<Record<string, number>>;
  };
}

/** Of the machine that sends. */
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
  const view = "attack" in event ? `attacks/${encodeURIComponent(event.attack.id)}` : "ban" in event ? "bans" : "";
  return `${pageUrl.replace(/\/$/, "")}/#/${view}`;
}

function subject(
  event: NotifyEvent,
): Pick<
  EventWire,
  "attack" | "ban" | "bgp_session" | "state_database" | "cap" | "exporter" | "scrub_node" | "file" | "cluster"
> {
  switch (event.kind) {
    case "attack_started":
    case "attack_changed":
    case "attack_lasts":
    case "attack_ended": {
      const { attack, ban } = event;
      return { attack: attackToWire({ attack, ban }), ...(ban === null ? {} : { ban: banRow(ban) }) };
    }
    case "ban_active":
    case "ban_withdrawn":
    case "ban_rejected":
      return { ban: banRow(event.ban) };
    case "bgp_session_lost":
    case "bgp_session_restored": {
      const { address, remoteAsn, state } = event.neighbor;
      return { bgp_session: { address, remote_asn: remoteAsn, state } };
    }
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
    case "test":
      return {};
    default:
      return event satisfies never;
  }
}

/** Without the announcement state, which changes moments later. */
function banRow(ban: Ban): Omit<BanWire, "announced"> {
  const { announced: _, ...row } = banToWire({ ban, routeState: null });
  return row;
}
