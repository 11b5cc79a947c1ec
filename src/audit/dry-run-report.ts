/**
 * The report of dry run: the automatic bans that were recorded and not announced, with the attack of each and what
 * operators marked it as. Pure.
 */

import type { Attack } from "../detection/attack/attack.ts";
import type { AuditEvent } from "./audit-event.ts";
import { wholeTarget } from "./whole-target.ts";

/** As an operator marked the incident of its attack. */
type Mark = "real" | "expected" | "false_alarm";

export interface MarkedBan {
  /** Wall clock, ms. */
  readonly atMs: number;
  /** null: it lasts, or its end is not known. */
  readonly untilMs: number | null;
  readonly target: string;
  /** null: its attack is not known. */
  readonly group: string | null;
  readonly attack: string | null;
  readonly incident: string | null;
  readonly mark: Mark | null;
}

export interface MarkSums {
  readonly bans: number;
  readonly real: number;
  readonly expected: number;
  readonly falseAlarm: number;
  readonly unmarked: number;
}

export interface DryRunReport {
  readonly sums: MarkSums;
  /** Sums of bans whose attack is known, by name. */
  readonly hostgroups: readonly { readonly name: string; readonly sums: MarkSums }[];
  /** The newest first. */
  readonly rows: readonly MarkedBan[];
  /** There are more than were read. */
  readonly isTruncated: boolean;
}

interface ReportSources {
  /** Events of the actions ban and unban, in any order. */
  readonly events: readonly AuditEvent[];
  readonly attacks: readonly Attack[];
  /** The mark of an incident, by its id. */
  readonly markOf: (incident: string) => Mark | null;
  readonly isTruncated: boolean;
}

/** The audit row of a ban is written up to this long after its attack began, ms, and an unban as long after its end. */
const SLACK_MS = 10_000;

/** Yields between its steps, since there may be very many bans and attacks of one target. */
export function* dryRunReport({
  events,
  attacks,
  markOf,
  isTruncated,
}: ReportSources): Generator<undefined, DryRunReport> {
  const own = events.filter(({ source, dryRun }) => source === "auto" && dryRun);
  const ends = Map.groupBy(
    own.filter(({ action }) => action === "unban"),
    ({ target }) => target,
  );
  const byTarget = Map.groupBy(attacks, (attack) => attack.target ?? attack.carpet?.prefix.split("/")[0] ?? "");
  const rows: MarkedBan[] = [];
  for (const { action, result, reason, wallMs, target, targetType } of own) {
    const whole = wholeTarget(target, targetType, reason);
    // A ban that goes back to a milder rung has a row that says so.
    if (action !== "ban" || result !== "active" || !["", whole].includes(reason)) continue;
    const attack = byTarget.get(target)?.find((each) => isDuring(each, wallMs)) ?? null;
    const incident = attack?.incident ?? null;
    const later = (ends.get(target) ?? []).map((end) => end.wallMs).filter((endMs) => endMs >= wallMs);
    rows.push({
      ...{ atMs: wallMs, untilMs: later.length === 0 ? null : Math.min(...later), target: whole },
      ...{ group: attack?.group ?? null, attack: attack?.id ?? null, incident },
      mark: incident === null ? null : markOf(incident),
    });
    yield;
  }
  rows.sort((a, b) => b.atMs - a.atMs);
  const groups = Map.groupBy(rows, ({ group }) => group);
  const names = [...groups.keys()].filter((name) => name !== null).sort();
  return {
    sums: sumsOf(rows),
    hostgroups: names.map((name) => ({ name, sums: sumsOf(groups.get(name) ?? []) })),
    ...{ rows, isTruncated },
  };
}

function isDuring({ startedAt, endedAt }: Attack, atMs: number): boolean {
  return atMs >= startedAt - SLACK_MS && (endedAt === null || atMs <= endedAt + SLACK_MS);
}

function sumsOf(rows: readonly MarkedBan[]): MarkSums {
  const count = (mark: Mark | null) => rows.filter((row) => row.mark === mark).length;
  return {
    bans: rows.length,
    ...{ real: count("real"), expected: count("expected"), falseAlarm: count("false_alarm"), unmarked: count(null) },
  };
}
