/**
 * Problems that have not ended, and which targets know of each: their ends go to these, also after a restart. Bounded: over
 * the bound the one whose last event is oldest is forgotten, and its end goes by the routes.
 */
import type { Tenant } from "../access/fair-queue.ts";
import { ACTIVE_ATTACKS_MAX, ACTIVE_BANS_MAX } from "../limits.ts";
import type { NotifiedProblem } from "../storage/notification-records.ts";
import { forgettingTable, type RecordTable } from "../system/record-table.ts";
import { EVENT_KINDS } from "../targets/target-words.ts";
import type { NotifyEvent } from "./event.ts";

/** Attacks and bans, and faults of parts. */
export const PROBLEMS_MAX = ACTIVE_ATTACKS_MAX + ACTIVE_BANS_MAX + 4096;

export interface Notified {
  /** Tenant of the begin. After a reload, another may own the victim: its events are not for the targets of the first. */
  readonly tenant: Tenant;
  /** When each target got the last event, wall clock, ms. */
  readonly at: Map<string, number>;
  /** Targets that did not get the begin, as it was a quiet time of their routes. */
  readonly quiet: ReadonlySet<string>;
  /** Whether it is known who got the begin: where that is no target, none gets the end. */
  readonly isDecided: boolean;
  /** The last event before its end; null: of an attack or a ban, which have tables of their own. */
  readonly begin: NotifyEvent | null;
}

interface NotifiedProblemsOptions {
  readonly table: Pick<RecordTable<NotifiedProblem>, "queue">;
  /** Problems of an earlier process. */
  readonly stored: readonly NotifiedProblem[];
}

export class NotifiedProblems {
  readonly #table: NotifiedProblemsOptions["table"];
  /** By key. The one whose last event is oldest is first. */
  readonly #problems = new Map<string, Notified>();
  /** The problems with targets in a quiet time. */
  readonly #quiet = new Set<string>();

  constructor({ table, stored }: NotifiedProblemsOptions = { table: forgettingTable(), stored: [] }) {
    this.#table = table;
    for (const { id, tenant, targets, quiet, isDecided = false, begin } of stored) {
      const known = { tenant, at: new Map(targets), quiet: new Set(quiet), isDecided };
      this.#put(id, { ...known, begin: eventOf(begin) });
    }
  }

  get(key: string): Notified | undefined {
    return this.#problems.get(key);
  }

  /** Those with targets in a quiet time. */
  *inQuiet(): Generator<readonly [key: string, problem: Notified]> {
    for (const key of this.#quiet) {
      const problem = this.#problems.get(key);
      if (problem !== undefined) yield [key, problem];
    }
  }

  /** Problems of parts, the one whose last event is oldest first. */
  *ofParts(): Generator<readonly [key: string, problem: Notified & { readonly begin: NotifyEvent }]> {
    for (const [key, { begin, ...problem }] of this.#problems) if (begin !== null) yield [key, { ...problem, begin }];
  }

  /** Begins of parts, as an earlier process left them: call this before anything is set. */
  *begins(): Generator<NotifyEvent> {
    for (const { begin } of this.#problems.values()) if (begin !== null) yield begin;
  }

  set(key: string, problem: Notified): void {
    this.#put(key, problem);
    this.#table.queue(key, recordOf(key, problem));
    const [oldest] = this.#problems.keys();
    if (this.#problems.size > PROBLEMS_MAX && oldest !== undefined) this.delete(oldest);
  }

  delete(key: string): void {
    this.#quiet.delete(key);
    if (this.#problems.delete(key)) this.#table.queue(key, null);
  }

  #put(key: string, problem: Notified): void {
    this.#problems.delete(key);
    this.#problems.set(key, problem);
    if (problem.quiet.size > 0) this.#quiet.add(key);
    else this.#quiet.delete(key);
  }
}

/** null: it has none, or another build wrote it and this one does not know its kind. */
function eventOf(begin: NotifiedProblem["begin"]): NotifyEvent | null {
  const event = begin?.event as NotifyEvent | undefined;
  return event !== undefined && EVENT_KINDS.includes(event.kind) ? event : null;
}

function recordOf(id: string, { tenant, at, quiet, isDecided, begin }: Notified): NotifiedProblem {
  const known = { id, tenant, targets: [...at], quiet: [...quiet], isDecided };
  return begin === null ? known : { ...known, begin: { event: begin } };
}
