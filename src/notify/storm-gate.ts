/**
 * Decides which events a target gets one by one where too many come at once: of each tenant a number that grows again with
 * time. The others are counted in one event, and the ends of those that were counted are counted too.
 */
import type { Tenant } from "../access/fair-queue.ts";
import { SEVERITIES } from "../targets/target-words.ts";
import type { JoinedEvent, NotifyEvent } from "./event.ts";
import { problemOf } from "./problem.ts";
import { severityOf } from "./severity.ts";

/** After which one more event of a tenant is sent by itself, ms. */
const ONE_MORE_MS = 6_000;
/** Problems whose begin was counted and whose end is awaited; over it the end of the oldest is sent by itself. */
const JOINED_PROBLEMS_MAX = 16_384;

interface Room {
  left: number;
  atMs: number;
}

export class StormGate {
  /** null: each is sent. */
  readonly #burst: number | null;
  /** By tenant: bounded by the configuration, and by those before it. */
  readonly #rooms = new Map<Tenant, Room>();
  readonly #joined = new Set<string>();
  /** Problems that were sent: their later events are sent too. */
  readonly #sent = new Set<string>();

  constructor(burst: number | null) {
    this.#burst = burst;
  }

  admits(event: NotifyEvent, tenant: Tenant, monotonicMs: number): boolean {
    if (this.#burst === null || event.kind === "test") return true;
    const problem = problemOf(event);
    if (problem === null) return this.#takesRoom(tenant, monotonicMs);
    const { key, isOver } = problem;
    if (this.#joined.has(key)) {
      if (isOver) this.#joined.delete(key);
      return false;
    }
    // The end of what is not known closes an alert that an earlier process may have opened.
    if (isOver || this.#sent.has(key)) {
      if (isOver) this.#sent.delete(key);
      return true;
    }
    const isSent = this.#takesRoom(tenant, monotonicMs);
    remember(isSent ? this.#sent : this.#joined, key);
    return isSent;
  }

  #takesRoom(tenant: Tenant, monotonicMs: number): boolean {
    const burst = this.#burst ?? 0;
    const room = this.#rooms.get(tenant) ?? { left: burst, atMs: monotonicMs };
    room.left = Math.min(burst, room.left + (monotonicMs - room.atMs) / ONE_MORE_MS);
    room.atMs = monotonicMs;
    this.#rooms.set(tenant, room);
    if (room.left < 1) return false;
    room.left--;
    return true;
  }
}

function remember(keys: Set<string>, key: string): void {
  keys.add(key);
  const [oldest] = keys;
  if (keys.size > JOINED_PROBLEMS_MAX && oldest !== undefined) keys.delete(oldest);
}

/** The event that counts `event` too. @param joined null: it is the first. @param tenant of the target. */
export function joinedWith(
  joined: JoinedEvent | null,
  event: NotifyEvent,
  { newId, wallMs, tenant }: { readonly newId: () => string; readonly wallMs: number; readonly tenant: Tenant },
): JoinedEvent {
  const { counts = {}, severity = "info", sinceMs = event.atMs } = joined?.joined ?? {};
  const more = event.kind === "events_joined" ? event.joined.counts : { [event.kind]: 1 };
  const sums = Object.entries(more).map(([kind, count]) => [kind, (counts[kind] ?? 0) + count] as const);
  const worst = Math.max(SEVERITIES.indexOf(severity), SEVERITIES.indexOf(severityOf(event)));
  return {
    ...{ id: joined?.id ?? newId(), kind: "events_joined", atMs: wallMs, dryRun: event.dryRun },
    ...{ tenant, group: null },
    joined: {
      counts: { ...counts, ...Object.fromEntries(sums) },
      severity: SEVERITIES[worst] ?? "info",
      sinceMs: Math.min(sinceMs, event.atMs),
    },
  };
}
