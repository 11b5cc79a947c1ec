/**
 * The ways between the audit trail and what its rows are about: from a ban, a source block or an attack to its rows, and
 * from a row to the ban and the attack. Pure.
 */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { AuditEventWire } from "../../src/http/wire/audit.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { eventMs } from "./audit.ts";
import { attackSubject } from "./mitigation.ts";

type Query = Readonly<Record<string, string>>;

/** As long as the longest range of the history, with some time to read it. */
const SPAN_MS_MAX = 31 * 86_400_000 - 3_600_000;
/** Rows of a ban may be a little older or newer than its times: they are written to the second, after the disk. */
const MARGIN_MS = 60_000;

interface AuditedTime {
  readonly target: string;
  /** RFC 3339. */
  readonly from: string;
  /** Absent: it lasts. */
  readonly to?: string | undefined;
}

/** The query of the audit view for the rows of something that had this target at this time. */
export function auditPlace({ target, from, to }: AuditedTime, nowMs: number): Query {
  const toMs = to === undefined ? null : Date.parse(to) + MARGIN_MS;
  const fromMs = Math.max(Date.parse(from) - MARGIN_MS, (toMs ?? nowMs) - SPAN_MS_MAX);
  const end = toMs === null || toMs >= nowMs ? {} : { to: new Date(toMs).toISOString() };
  return { target, range: "own", from: new Date(fromMs).toISOString(), ...end };
}

/** The ban that the row is about; undefined: it is none of these. */
export function banOfEvent(event: AuditEventWire, bans: readonly BanWire[]): BanWire | undefined {
  if (event.action !== "ban" && event.action !== "unban") return undefined;
  const at = eventMs(event);
  const isRefused = event.result === "rejected";
  const found = (byTarget(bans).get(event.target) ?? [])
    .filter((ban) => (ban.state === "rejected") === isRefused && isDuring(at, ban.started_at, ban.withdrawn_at))
    .toSorted((a, b) => (a.started_at < b.started_at ? -1 : 1));
  // Within one second one ban may end and the next begin.
  return event.action === "unban" ? found[0] : found.at(-1);
}

/** The id of the attack whose packets were downloaded; null: none were. */
export function downloadedAttack({ action, result, reason }: AuditEventWire): string | null {
  if (action !== "packet_download" || result !== "ok") return null;
  return /^attack ([^\s,]+)/.exec(reason)?.[1] ?? null;
}

/** The attack that was going on when the row was written; undefined: it is none of these. */
export function attackOfEvent(event: AuditEventWire, attacks: readonly AttackWire[]): AttackWire | undefined {
  const [victim = ""] = event.target.split("->").slice(-1);
  const at = eventMs(event);
  return attacks.find(
    (attack) =>
      (attackSubject(attack) === victim || attack.prefix?.startsWith(`${victim}/`) === true) &&
      isDuring(at, attack.started_at, attack.ended_at),
  );
}

/** The query of the history of attacks for those that the row may be about: they end after it. */
export function attacksAfter(event: AuditEventWire, nowMs: number): Query {
  const [victim = ""] = event.target.split("->").slice(-1);
  return endedAfter(victim, eventMs(event), nowMs);
}

/** As above, for a ban. */
export function attacksDuring({ target, started_at: from }: BanWire, nowMs: number): Query {
  return endedAfter(target, Date.parse(from), nowMs);
}

function endedAfter(target: string, ms: number, nowMs: number): Query {
  const fromMs = ms - MARGIN_MS;
  const end = nowMs - fromMs > SPAN_MS_MAX ? { to: new Date(fromMs + SPAN_MS_MAX).toISOString() } : {};
  return { which: "history", target, range: "own", from: new Date(fromMs).toISOString(), ...end };
}

/** A row has whole seconds. */
function isDuring(atMs: number, from: string, to: string | undefined): boolean {
  return atMs >= Date.parse(from) - 1000 && (to === undefined || atMs <= Date.parse(to) + 1000);
}

const BY_TARGET = new WeakMap<readonly BanWire[], ReadonlyMap<string, readonly BanWire[]>>();

/** Indexes the list once, not for each row. */
function byTarget(bans: readonly BanWire[]): ReadonlyMap<string, readonly BanWire[]> {
  const index = BY_TARGET.get(bans) ?? Map.groupBy(bans, ({ target }) => target);
  BY_TARGET.set(bans, index);
  return index;
}
