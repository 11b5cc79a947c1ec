/** The mitigation of an attack, and whether it works, in one short line. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { t } from "../language.ts";
import { spareReason } from "./attack-advice.ts";
import { byteCount, scaled } from "./format/numbers.ts";
import { methodName } from "./format/words.ts";
import { isWaitingForRules, isWatchedOnly } from "./ladder.ts";
import { said } from "./service-words.ts";
import { idleText, reachedOf } from "./standing.ts";

interface Effect {
  readonly tone: "ok" | "warn" | "danger" | "info";
  /** `Blackhole announced`. */
  readonly title: string;
  /** The reason, or what to do; null: nothing to add. */
  readonly detail: string | null;
}

/** An address, a part of a hostgroup, or a whole hostgroup. */
export function attackSubject({ target, prefix, group }: AttackWire): string {
  return target ?? prefix ?? t`hostgroup ${group}`;
}

/**
 * Attacks without mitigation first, then by how far they exceed the threshold, in steps of a factor of two, so that
 * cards do not change places with every reading.
 */
export function byUrgency(a: AttackWire, b: AttackWire): number {
  const isHeld = (attack: AttackWire) => (attack.ban_state === "active" ? 1 : 0);
  const doublings = ({ rate, threshold }: AttackWire) => Math.round(Math.log2(Math.max(1, rate / threshold)));
  return isHeld(a) - isHeld(b) || doublings(b) - doublings(a) || (a.started_at + a.id < b.started_at + b.id ? -1 : 1);
}

/** The ban of the attack: the active one, else the last one. undefined: there is none. */
export function banOf({ target, prefix }: AttackWire, bans: readonly BanWire[]): BanWire | undefined {
  if (target !== undefined) return indexOf(BY_TARGET, bans, (ban) => ban.target).get(target);
  return prefix === undefined ? undefined : indexOf(BY_PREFIX, bans, (ban) => ban.prefix).get(prefix);
}

type BanIndexes = WeakMap<readonly BanWire[], ReadonlyMap<string, BanWire>>;

/** A list is indexed once, not for each attack. */
const BY_TARGET: BanIndexes = new WeakMap();
const BY_PREFIX: BanIndexes = new WeakMap();

function indexOf(indexes: BanIndexes, bans: readonly BanWire[], keyOf: (ban: BanWire) => string) {
  const known = indexes.get(bans);
  if (known !== undefined) return known;
  const index = new Map<string, BanWire>();
  for (const ban of bans) {
    const other = index.get(keyOf(ban));
    if (other === undefined || goesBefore(ban, other)) index.set(keyOf(ban), ban);
  }
  indexes.set(bans, index);
  return index;
}

/** Whether an order by hand would be refused as well, as for an address of the whitelist. */
export function isSpared(ban: BanWire | undefined): boolean {
  return spareReason(ban) !== null;
}

/** `initech`, or `initech, web`: the tenant, and the hostgroup where it has another name. */
export function customerText({ tenant, group }: Pick<AttackWire, "tenant" | "group">): string {
  return tenant === undefined || tenant === group ? group : `${tenant}, ${group}`;
}

export function effectOf(attack: AttackWire, ban: BanWire | undefined): Effect {
  const method = methodName(attack.method ?? ban?.method ?? "none");
  switch (attack.ban_state) {
    case undefined:
      return withoutBan(attack);
    case "rejected":
      return { tone: "danger", title: t`Not banned`, detail: refusalText(ban?.reason) };
    case "withdrawn":
      return { tone: "warn", title: t`Ban ended`, detail: ban?.reason === undefined ? null : said(ban.reason) };
    case "active":
      return attack.dry_run ? dryRun(method) : inForce(method, ban, attack.volume);
    default:
      return attack.ban_state satisfies never;
  }
}

type Volume = AttackWire["volume"];

/**
 * `1.20 M packets (840 MB)`: what this machine dropped; null: not known.
 * @param volume of the ban's only attack: what all views of it say, which is newer than the counters of the ban
 */
export function droppedAmount({ dropped_packets, dropped_bytes = 0 }: BanWire, volume?: Volume): string | null {
  const { dropped_packets: packets = dropped_packets, dropped_bits: bits = 8 * dropped_bytes } = volume ?? {};
  return packets === undefined ? null : t`${scaled(packets)} packets (${byteCount(bits / 8)})`;
}

/** `1.20 M packets (840 MB) dropped here`; null: not known. */
function droppedText(ban: BanWire, volume: Volume): string | null {
  const { would_drop_packets: counted, would_drop_bytes } = ban;
  if (counted !== undefined)
    return t`${scaled(counted)} packets (${byteCount(would_drop_bytes ?? 0)}) would be dropped here`;
  const amount = droppedAmount(ban, volume);
  return amount === null ? null : t`${amount} dropped here`;
}

const REASONS = {
  rule: t`matched the attack`,
  unvalidated: t`of sources that have not proved their address`,
  unasked: t`answers that were not requested`,
  source_limit: t`beyond a source's limit`,
  blocked_set: t`from blocked sets`,
  no_service: t`to no service`,
} as const satisfies Record<keyof NonNullable<BanWire["dropped_by"]>, string>;

/** `800 k of sources that have not proved their address, 12 k beyond a source's limit`; null: there is one reason, or none. */
function reasonsText({ dropped_by: reasons = {} }: BanWire): string | null {
  const parts = (Object.keys(REASONS) as (keyof typeof REASONS)[]).flatMap((reason) => {
    const packets = reasons[reason];
    return packets === undefined ? [] : [`${scaled(packets)} ${REASONS[reason]}`];
  });
  return parts.length < 2 ? null : parts.join(", ");
}

/** `1.20 M packets (840 MB) dropped here; challenged 800 k packets: 310 sources proved real`. */
function scrubbedText(ban: BanWire, dropped: string | null, volume: Volume) {
  const isOfAttack = volume?.dropped_packets !== undefined;
  const { challenged_packets: challenged, validated_sources: proved } = isOfAttack ? volume : ban;
  const asked =
    challenged === undefined
      ? null
      : t`challenged ${scaled(challenged)} packets: ${scaled(proved ?? 0)} sources proved real`;
  // The causes of all that was dropped are facts of the attack.
  const reasons = isOfAttack ? null : reasonsText(ban);
  return [dropped, reasons, asked].filter((part) => part !== null).join("; ") || null;
}

const REMEDIES: Readonly<Record<string, string>> = {
  whitelisted: t`it is in protected_whitelist`,
  "max_active_bans reached": t`lift others, or raise ban.max_active_bans`,
  "max_banned_fraction reached": t`lift others, or raise ban.max_banned_fraction`,
};

function refusalText(reason: string | undefined): string | null {
  if (reason === undefined) return null;
  const words = said(reason);
  return reason in REMEDIES ? `${words}: ${REMEDIES[reason]}` : words;
}

function withoutBan({ scope, prefix }: AttackWire): Effect {
  const isWhole = scope === "group" && prefix === undefined;
  if (isWhole)
    return { tone: "info", title: t`Watched only`, detail: t`Hostgroups that are judged as a whole are never banned.` };
  return {
    tone: "warn",
    title: t`No mitigation`,
    detail: t`The attack has no ban.`,
  };
}

function dryRun(method: string): Effect {
  return { tone: "warn", title: t`Dry run: ${method}`, detail: t`Nothing is announced, nothing dropped.` };
}

function inForce(method: string, ban: BanWire | undefined, volume: Volume): Effect {
  if (ban === undefined) return { tone: "info", title: method, detail: null };
  const dropped = droppedText(ban, volume);
  if (ban.method === "scrub") {
    if (droppedAmount(ban) === null) return { tone: "warn", title: t`${method}: not in the kernel`, detail: null };
    return { tone: "ok", title: method, detail: scrubbedText(ban, dropped, volume) };
  }
  switch (ban.announcement) {
    case "announced":
      return announced(method, ban, dropped);
    case "pending":
      return { tone: "info", title: t`${method}: announcing`, detail: dropped };
    case "speaker_down":
      return { tone: "danger", title: t`${method}: not known`, detail: speakerText(ban) };
    case "failed":
      return { tone: "danger", title: t`${method} not announced`, detail: speakerText(ban) };
    case "no_session":
    case undefined:
      return withoutSpeaker(method, ban, dropped);
    default:
      return ban.announcement satisfies never;
  }
}

function speakerText({ announce_error: error }: BanWire): string | null {
  return error === undefined ? null : said(error);
}

function announced(method: string, ban: BanWire, dropped: string | null): Effect {
  const { sent_to, missing_at } = ban;
  const [sent, missing] = [sent_to ?? [], missing_at ?? []];
  const have =
    sent.length === 0 ? null : sent.length === 1 ? t`${list(sent)} has the route.` : t`${list(sent)} have the route.`;
  const reached = reachedOf(ban);
  const lacks = missing.map(({ neighbor, cause }) => t`Not ${neighbor}: ${said(cause)}.`);
  const detail = [have, ...lacks, dropped].filter((part) => part !== null).join(" ") || null;
  if (ban.node_idle === true) return { tone: "danger", title: `${method}: ${idleText(ban)}`, detail };
  if (reached === null || reached.neighbors >= reached.of) return { tone: "ok", title: t`${method} announced`, detail };
  return { tone: "warn", title: t`${method} at ${reached.neighbors} of ${reached.of} routers`, detail };
}

/** No neighbor has a session, or there is nothing that announces. */
function withoutSpeaker(method: string, ban: BanWire, dropped: string | null): Effect {
  if (isWatchedOnly(ban)) {
    return { tone: "info", title: methodName("none"), detail: t`The first step of the escalation announces nothing.` };
  }
  if ((ban.dropped_packets ?? 0) > 0) return { tone: "ok", title: method, detail: dropped };
  if (ban.announcement === undefined && isWaitingForRules(ban)) {
    return { tone: "info", title: t`${method}: waiting for rules`, detail: t`They wait for the kind of the attack.` };
  }
  const detail =
    ban.announcement === "no_session"
      ? t`No BGP session is established, so no neighbor has the route.`
      : t`Nothing announces it: there is no bgp section, or no rule was found.`;
  return { tone: "danger", title: t`${method} not announced`, detail };
}

/** `a, b and c`. */
function list(items: readonly string[]): string {
  return items.length < 2 ? items.join() : t`${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

function goesBefore(a: BanWire, b: BanWire): boolean {
  const [isActive, isOtherActive] = [a.state === "active", b.state === "active"];
  return isActive === isOtherActive ? a.started_at > b.started_at : isActive;
}
