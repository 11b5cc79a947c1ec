/** An event in words for people: victim, rate and threshold, mitigation, start time. */
import { type Attack, attackRate } from "../detection/attack/attack.ts";
import type { Vector } from "../detection/attack/vector.ts";
import { volumeText } from "../detection/attack/volume-text.ts";
import type { Ban } from "../mitigation/ban.ts";
import { isOneAddress } from "../mitigation/ban-subject.ts";
import { type FlowspecMeasure, foundNone, hasLooked, measureText, NO_RULES_FOUND } from "../mitigation/measure.ts";
import { NOTHING_KNOWN } from "../mitigation/separability.ts";
import { ingressText } from "../traffic/ingress.ts";
import { METRICS, type Metric } from "../traffic/rates.ts";
import { CONDITIONS, conditionOf, isConditionEnd } from "./condition.ts";
import type {
  AttackEvent,
  BanEvent,
  CapEvent,
  ClusterEvent,
  ConditionEvent,
  ExporterEvent,
  FileEvent,
  JoinedEvent,
  NotifyEvent,
  OrderEvent,
  ScrubNodeEvent,
  SessionEvent,
  StateEvent,
} from "./event.ts";
import { linkOf } from "./event-wire.ts";
import { durationText, numberText, timeText } from "./number-text.ts";
import { adviceOf } from "./severity.ts";

export interface EventText {
  readonly headline: string;
  readonly details: readonly string[];
}

export function describeEvent(event: NotifyEvent): EventText {
  const { headline, details } = describe(event);
  return { headline: oneLine(headline), details: details.map(oneLine) };
}

/** The advice, and the link to the page, each where there is one. */
export function hintsOf(event: NotifyEvent, pageUrl: string | null): readonly string[] {
  const [advice, link] = [adviceOf(event), linkOf(event, pageUrl)];
  return [...(advice === null ? [] : [`To do: ${advice}`]), ...(link === null ? [] : [link])];
}

function describe(event: NotifyEvent): EventText {
  if ("condition" in event) return describeCondition(event);
  switch (event.kind) {
    case "attack_started":
    case "attack_changed":
    case "attack_lasts":
    case "attack_not_held":
    case "attack_ended":
      return describeAttack(event);
    case "ban_active":
    case "ban_withdrawn":
    case "ban_rejected":
    case "rules_not_found":
      return describeBan(event);
    case "bgp_session_lost":
    case "bgp_session_restored":
      return describeSession(event);
    case "state_damaged":
      return describeDamage(event);
    case "cap_reached":
      return describeCap(event);
    case "exporter_fault":
    case "exporter_fault_over":
      return describeExporter(event);
    case "scrub_node_fault":
    case "scrub_node_fault_over":
      return describeScrubNode(event);
    case "file_fault":
    case "file_fault_over":
      return describeFile(event);
    case "cluster_fault":
    case "cluster_fault_over":
      return describeCluster(event);
    case "order_made":
    case "order_changed":
    case "order_ended":
      return describeOrders(event);
    case "owner_changed":
      return {
        headline: `${event.left.type === "attack" ? "An attack" : "A ban"} is on addresses of another owner now`,
        details: ["Nothing more is notified of it here", timeText(event.atMs)],
      };
    case "events_joined":
      return describeJoined(event);
    case "test":
      return { headline: "Test of a notification", details: [`Ordered by ${event.orderedBy}`, timeText(event.atMs)] };
    default:
      return event satisfies never;
  }
}

function describeAttack({ kind, attack, ban, isNewKind }: AttackEvent): EventText {
  const name = `${attack.direction === "outgoing" ? "Outgoing attack from" : "Attack on"} ${victim(attack)}`;
  const strength = `${rateText(attack.metric, attackRate(attack))}, threshold ${numberText(attack.threshold)}`;
  if (kind === "attack_ended") {
    const endedAt = attack.endedAt ?? attack.startedAt;
    return {
      headline: `${name} is over after ${durationText(endedAt - attack.startedAt)}`,
      details: [
        ...sizeText(attack),
        `Last seen: ${strength}`,
        banText(ban),
        `From ${timeText(attack.startedAt)} to ${timeText(endedAt)}`,
      ],
    };
  }
  return {
    headline: `${name}${turnText(kind, isNewKind)}: ${strength}`,
    details: [
      ...kindText(attack),
      ...ingressLine(attack),
      `In all: ${METRICS.slice(0, 3)
        .map((metric, i) => rateText(metric, attack.rates[i] ?? 0))
        .join(", ")}; hostgroup ${attack.group}`,
      banText(ban),
      `Since ${timeText(attack.startedAt)}`,
    ],
  };
}

function turnText(kind: Exclude<AttackEvent["kind"], "attack_ended">, isNewKind: boolean): string {
  if (kind === "attack_started") return "";
  if (kind === "attack_lasts") return " goes on";
  if (kind === "attack_not_held") return " is not held, more than its threshold gets through what this machine drops";
  return isNewKind ? " changes" : " grows";
}

function sizeText({ volume }: Attack): string[] {
  return volume === null ? [] : [`Size: ${volumeText(volume)}`];
}

function victim({ target, group, carpet }: Attack): string {
  if (carpet !== null) return `${carpet.hosts} hosts of ${carpet.prefix}`;
  return target ?? `hostgroup ${group}`;
}

/** `Kind: dns amplification, 97 % of its traffic`. */
function kindText({ classification }: Attack): string[] {
  if (classification === null) return [];
  const { type, confidence, parts } = classification;
  const percent = (share: number) => `${Math.round(100 * share)} %`;
  if (parts.length < 2) return [`Kind: ${vectorText(type)}, ${percent(confidence)} of its traffic`];
  const several = parts.map((part) => `${vectorText(part.type)} ${percent(part.share)}`);
  return [`Kind: ${vectorText(type)}, of ${several.join(", ")}`];
}

/** Named in a notification. */
const INTERFACES_NAMED = 3;

/** `Comes in by: edge1 xe-0/0/1 82 %, edge2 interface 17 18 %`. */
function ingressLine({ direction, sample }: Attack): string[] {
  const interfaces = direction === "incoming" ? (sample?.topInterfaces ?? []) : [];
  if (interfaces.length === 0) return [];
  const named = interfaces
    .slice(0, INTERFACES_NAMED)
    .map((ingress) => `${ingressText(ingress)} ${Math.round(100 * ingress.share)} %`);
  const more = interfaces.length > INTERFACES_NAMED ? " and others" : "";
  return [`Comes in by: ${named.join(", ")}${more}`];
}

function vectorText(vector: Vector): string {
  return vector.replaceAll("_", " ");
}

function banned({ target, prefix }: Ban): string {
  return isOneAddress(prefix) ? target : prefix.text;
}

/** The mitigation of an attack. */
function banText(ban: Ban | null): string {
  if (ban === null) return "Ban: none";
  if (ban.state === "rejected") return `Ban: refused, ${ban.reason ?? "by policy"}`;
  if (ban.state === "withdrawn") return `Ban: withdrawn, ${ban.reason ?? "by policy"}`;
  return `Ban: ${ban.method} until ${timeText(ban.expiresAt)}, ${announcementText(ban)}`;
}

function announcementText(ban: Ban): string {
  if (ban.dryRun) return "virtual: nothing is announced";
  if (ban.measure.kind === "none") return "watched for now: nothing is announced";
  if (ban.measure.kind === "flowspec") return rulesText(ban.measure);
  return measureText(ban.measure) || "no BGP speaker: nothing is announced";
}

function rulesText(measure: FlowspecMeasure): string {
  if (foundNone(measure)) return `nothing is announced: ${NO_RULES_FOUND}`;
  if (!hasLooked(measure)) return "its rules are not known yet";
  const { verdict, usersAtRisk } = measure.separability ?? NOTHING_KNOWN;
  const share = usersAtRisk === null ? "" : `, about ${Math.round(100 * usersAtRisk)} % of them`;
  const spared = verdict === "no" ? ` (they match users too${share})` : "";
  return `${measureText(measure)}${spared}`;
}

function describeBan({ kind, ban }: BanEvent): EventText {
  const cause =
    ban.manual || ban.metric === null
      ? operatorText(ban)
      : `For ${rateText(ban.metric, ban.rate)}, threshold ${numberText(ban.threshold)}`;
  const since = `Since ${timeText(ban.startedAt)}`;
  switch (kind) {
    case "ban_active":
      return {
        headline: `Ban of ${banned(ban)} is active`,
        details: [cause, `${ban.method}: ${announcementText(ban)}`, `${since}, until ${timeText(ban.expiresAt)}`],
      };
    case "ban_withdrawn":
      return {
        headline: `Ban of ${banned(ban)} is withdrawn: ${ban.reason ?? "by policy"}`,
        details: [cause, `${since}, until ${timeText(ban.withdrawnAt ?? ban.expiresAt)}`],
      };
    case "ban_rejected":
      return { headline: `Ban of ${banned(ban)} is refused: ${ban.reason ?? "by policy"}`, details: [cause, since] };
    case "rules_not_found":
      return {
        headline: `No rules for the ban of ${banned(ban)}: ${NO_RULES_FOUND}`,
        details: [cause, `${ban.method}: ${announcementText(ban)}`, since],
      };
    default:
      return kind satisfies never;
  }
}

/** `By noc: ticket 7`. */
function operatorText({ operator = "an operator", orderReason = "", endedBy }: Ban): string {
  const ordered = `By ${operator}${orderReason === "" ? "" : `: ${orderReason}`}`;
  if (endedBy === undefined) return ordered;
  return `${ordered}; ended by ${endedBy.operator || "an operator"}${endedBy.reason === "" ? "" : `: ${endedBy.reason}`}`;
}

function describeSession({ kind, neighbor, atMs }: SessionEvent): EventText {
  const session = `BGP session with ${neighbor.address} (AS ${neighbor.remoteAsn})`;
  if (neighbor.state === "removed")
    return { headline: `${session} is not configured any more`, details: [timeText(atMs)] };
  return kind === "bgp_session_lost"
    ? { headline: `${session} is lost`, details: [`Its state is ${neighbor.state}`, timeText(atMs)] }
    : { headline: `${session} is up again`, details: [timeText(atMs)] };
}

function describeDamage({ damage, atMs }: StateEvent): EventText {
  const { reason, movedTo, salvaged } = damage;
  const rows = Object.entries(salvaged).map(([table, count]) => `${count} ${table.replaceAll("_", " ")}`);
  return {
    headline: "The state database was damaged: bans may be lost, and their routes withdrawn",
    details: [`Salvaged: ${rows.join(", ")}`, `Moved to ${movedTo}: ${reason}`, timeText(atMs)],
  };
}

function describeCap({ cap, atMs }: CapEvent): EventText {
  const { name, limit, refused, replaced } = cap;
  const isOfBans = name === "max_active_bans" || name === "max_banned_fraction";
  const what = isOfBans ? `ban.${name}` : `The table of ${name}`;
  const counts = `${numberText(refused)} ${isOfBans ? "bans" : "detections"} refused, ${numberText(replaced)} replaced`;
  return {
    headline: `${what} is ${isOfBans ? "reached" : "full"}, at ${numberText(limit)}: only the largest attacks are ${isOfBans ? "banned" : "kept"}`,
    details: [`${counts} by those of worse attacks`, timeText(atMs)],
  };
}

function describeExporter({ kind, exporter, atMs }: ExporterEvent): EventText {
  const { name, address, fault, found } = exporter;
  const who = `Exporter ${name === address ? name : `${name} (${address})`}`;
  const what = fault.replaceAll("_", " ");
  return kind === "exporter_fault_over"
    ? { headline: `${who} is no longer ${what}`, details: [timeText(atMs)] }
    : { headline: `${who} is ${what}: ${found}`, details: [timeText(atMs)] };
}

function describeScrubNode({ kind, scrubNode, atMs }: ScrubNodeEvent): EventText {
  const who = `Scrub node ${scrubNode.name}`;
  if (kind === "scrub_node_fault_over")
    return { headline: `${who} enforces what it gets again`, details: [timeText(atMs)] };
  return {
    headline: `${who} does not enforce what it gets: ${scrubNode.found}`,
    details: ["These bans go to other nodes, or as scrubbing.on_all_nodes_lost says", timeText(atMs)],
  };
}

function describeFile({ kind, file, atMs }: FileEvent): EventText {
  const { key, error, effect } = file;
  return kind === "file_fault_over"
    ? { headline: `The file of ${key} can be used again`, details: [timeText(atMs)] }
    : { headline: `The file of ${key} cannot be used: ${error}`, details: [effect, timeText(atMs)] };
}

function describeCluster({ kind, cluster, atMs }: ClusterEvent): EventText {
  const { brain, fault, found } = cluster;
  return kind === "cluster_fault_over"
    ? { headline: `Cluster: the fault of ${brain} (${fault}) is over`, details: [timeText(atMs)] }
    : { headline: `Cluster: ${found}`, details: [timeText(atMs)] };
}

function describeCondition({ kind, condition, atMs }: ConditionEvent): EventText {
  const { subject, begins, ends, effect } = CONDITIONS[conditionOf(kind)];
  const { name, found } = condition;
  return isConditionEnd(kind)
    ? { headline: `${subject} ${name} ${ends}`, details: [timeText(atMs)] }
    : { headline: `${subject} ${name} ${begins}: ${found}`, details: [effect, timeText(atMs)] };
}

/** `840 more events: 500 attack started, 340 attack ended`. */
function describeJoined({ joined: { counts, sinceMs }, atMs }: JoinedEvent): EventText {
  const kinds = Object.entries(counts);
  const all = kinds.reduce((sum, [, count]) => sum + count, 0);
  const named = kinds.map(([kind, count]) => `${numberText(count)} ${kind.replaceAll("_", " ")}`);
  return {
    headline: `${numberText(all)} more events, too many to be sent one by one: ${named.join(", ")}`,
    details: [`From ${timeText(sinceMs)} to ${timeText(atMs)}`],
  };
}

const ORDER_NOUNS = {
  source_block: ["Source block", "source blocks"],
  filter_rule: ["Filter rule", "filter rules"],
  protection: ["Protection of", "protections"],
  lever: ["Lever of zone", "levers"],
  ban: ["Ban by hand of", "bans by hand"],
  maintenance: ["Maintenance window", "maintenance windows"],
} as const;

/** `Filter rule r1 was ordered by noc`, `Filter rule r1 ended by noc: removed`, `240 source blocks ended: expired`. */
function describeOrders({ kind, orders, atMs }: OrderEvent): EventText {
  const { type, count, targets, operator, reason, isReasonOfOrder, end, expiresAt } = orders;
  const [one, many] = ORDER_NOUNS[type];
  const what = count === 1 ? `${one} ${targets[0] ?? ""}` : `${numberText(count)} ${many}`;
  const turn = { order_made: "ordered", order_changed: "changed", order_ended: "ended" }[kind];
  const verb = kind === "order_ended" ? turn : `${count === 1 ? "was" : "were"} ${turn}`;
  const by = operator === "" ? "" : ` by ${operator}`;
  const why = end === "" ? "" : `: ${end.replaceAll("_", " ")}`;
  const done =
    kind === "order_ended" && isReasonOfOrder && by !== "" ? `, ordered${by}, ${verb}${why}` : ` ${verb}${by}${why}`;
  const more = count > targets.length ? ` and ${numberText(count - targets.length)} more` : "";
  return {
    headline: `${what}${done}`,
    details: [
      ...(count === 1 ? [] : [`${targets.join(", ")}${more}`]),
      ...(reason === "" ? [] : [`Reason: ${reason}`]),
      ...(kind === "order_ended" || expiresAt === null ? [] : [`Until ${timeText(expiresAt)}`]),
      timeText(atMs),
    ],
  };
}

/** The parts of the traffic in metric names. */
const PART_NAMES: readonly (readonly [prefix: string, name: string])[] = [
  ["tcp_syn_", "SYN "],
  ["tcp_", "TCP "],
  ["udp_", "UDP "],
  ["icmp_", "ICMP "],
  ["frag_", "fragment "],
];

function rateText(metric: Metric, rate: number): string {
  if (metric === "flows_per_sec") return `${numberText(rate)} new flows/s`;
  const part = PART_NAMES.find(([prefix]) => metric.startsWith(prefix))?.[1] ?? "";
  return `${numberText(rate)} ${part}${metric.endsWith("pps") ? "packets/s" : "Mbit/s"}`;
}

/** Reasons may contain text from a BGP speaker. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
}
