/** The deeds of people about an attack: rows of the audit trail, and for a tenant those of others for it. Pure. */
import type { TimelineWire } from "../../src/http/wire/attack-series.ts";
import type { AuditEventWire } from "../../src/http/wire/audit.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { t } from "../language.ts";
import { AUDIT_ACTIONS, AUDIT_RESULTS, actorText, auditReason, auditTarget, eventMs } from "./audit.ts";
import { entryText, foldedEntries } from "./timeline.ts";

export interface Deed {
  readonly atMs: number;
  /** `Ban: active`, `A ban was placed`. */
  readonly what: string;
  readonly by: string;
  /** Empty: the attack's own. */
  readonly target: string;
  readonly reason: string;
}

type Entry = TimelineWire["entries"][number];

interface Done {
  readonly events: readonly AuditEventWire[];
  readonly entries: readonly Entry[];
  readonly ban: BanWire | undefined;
  /** Its audit trail has the rows of its own callers alone. */
  readonly isTenant: boolean;
}

/** The newest first. */
export function deedsOf({ events, entries, ban, isTenant }: Done): Deed[] {
  const audited = events.map(deedOfEvent);
  if (!isTenant) return audited;
  const own = events.filter(({ action }) => action === "ban" || action === "unban").map(eventMs);
  const isOwn = (atMs: number) => own.some((ms) => Math.abs(ms - atMs) <= SAME_MS);
  const others = foldedEntries(entries).flatMap((entry) => {
    const atMs = Date.parse(entry.at);
    const what = DEEDS[entry.kind];
    if (what === undefined || isOwn(atMs)) return [];
    return [{ atMs, what, by: doerOf(entry, ban), target: "", reason: entryText(entry) }];
  });
  const placedMs = ban?.manual === true ? Date.parse(ban.started_at) : null;
  const isKnown =
    placedMs === null || isOwn(placedMs) || others.some(({ atMs }) => Math.abs(atMs - placedMs) <= SAME_MS);
  const byHand = isKnown ? [] : [{ atMs: placedMs, what: PLACED, by: NETWORK, target: "", reason: "" }];
  return [...audited, ...others, ...byHand].sort((a, b) => b.atMs - a.atMs);
}

/** An audit row has whole seconds. */
const SAME_MS = 2000;
/** Tenants do not see the names of others. */
const NETWORK = t`the operator of the network`;
const PLACED = t`A ban was placed`;

const DEEDS: Readonly<Partial<Record<Entry["kind"], string>>> = {
  ban_placed: PLACED,
  ban_refused: t`A ban was refused`,
  escalated: t`The ban was escalated`,
  deescalated: t`The ban went back to a milder step`,
  method_changed: t`The method of the ban was changed`,
  ban_withdrawn: t`The ban was lifted`,
};

function doerOf({ kind, at, text }: Entry, ban: BanWire | undefined): string {
  if (kind === "ban_withdrawn" && text === "manual unban") return NETWORK;
  const isByHand = ban?.manual === true && Math.abs(Date.parse(ban.started_at) - Date.parse(at)) <= SAME_MS;
  return kind === "ban_placed" && isByHand ? NETWORK : t`detection`;
}

function deedOfEvent(event: AuditEventWire): Deed {
  const { action, result } = event;
  return {
    atMs: eventMs(event),
    what: `${AUDIT_ACTIONS[action]}: ${AUDIT_RESULTS[result]}`,
    by: actorText(event),
    target: auditTarget(event),
    reason: auditReason(event),
  };
}
