/**
 * Writes down what is decided about each attack in progress: its kind, its ban and the changes of it, and when which
 * neighbor had its routes. The attack takes its timeline with it when it ends.
 */
import type { Attack, AttackEvent, AttackMitigation } from "../detection/attack/attack.ts";
import { type TimelineEntry, withEntry } from "../detection/attack/timeline.ts";
import { type Ban, type BanChange, banChangeKind, doingText, rungLeft } from "../mitigation/ban.ts";
import type { BanEngine } from "../mitigation/ban-engine.ts";
import { round } from "../traffic/rates.ts";

type Bans = Pick<BanEngine, "active" | "routeState">;

/** The routes of a ban, until each neighbor has them or OPEN_MS have passed. */
interface Announcement {
  readonly prefix: string;
  readonly sinceMs: number;
  readonly sentTo: Set<string>;
}

/** A neighbor that has not got a route by then is not waited for: each change of a route would look at all bans. */
const OPEN_MS = 60_000;

/** Up to this number of announcements each change of a route is read; above it, at most every LOOK_MS. */
const EXACT_MAX = 16;
const LOOK_MS = 250;

export class AttackTimelines {
  readonly #bans: Bans;
  /** By attack in progress: the detector bounds their number. */
  readonly #entries = new Map<string, readonly TimelineEntry[]>();
  /** The last ban of each of these. */
  readonly #banOf = new Map<string, Ban>();
  /** By ban. */
  readonly #announcements = new Map<string, Announcement>();
  /** Wall clock. */
  #lookedAtMs = 0;

  constructor(bans: Bans) {
    this.#bans = bans;
  }

  restore(attacks: readonly Attack[]): void {
    for (const { id, timeline } of attacks) this.#entries.set(id, timeline);
  }

  /** Before its ban changes because of it. */
  detected({ id, startedAt, metric, threshold }: Attack): void {
    this.#add(id, { atMs: startedAt, kind: "detected", text: `${metric} above ${round(threshold)}` });
  }

  /** The event with the timeline of its attack, for those that are stored; after its ban changed because of it. */
  recorded(event: AttackEvent, atMs: number): AttackEvent {
    const { kind, attack } = event;
    if (kind === "lasts") return event;
    if (kind === "classified" && event.isNewKind && attack.classification !== null) {
      const isFirst = !this.#of(attack).some((entry) => entry.kind === "classified");
      this.#add(attack.id, { atMs, kind: isFirst ? "classified" : "reclassified", text: attack.classification.type });
    }
    if (kind === "ended") this.#add(attack.id, { atMs, kind: "ended", text: "" });
    const filled = { ...event, attack: this.filled(attack) };
    if (kind !== "ended") return filled;
    const ban = this.#banOf.get(attack.id);
    this.#entries.delete(attack.id);
    this.#banOf.delete(attack.id);
    return ban === undefined ? filled : { ...filled, attack: { ...filled.attack, mitigation: mitigationOf(ban) } };
  }

  /** The attack with its timeline as of now. */
  filled(attack: Attack): Attack {
    return { ...attack, timeline: this.#of(attack) };
  }

  banChanged(change: BanChange, atMs: number): void {
    const { ban, previous } = change;
    for (const id of attacksOf(change)) if (this.#entries.has(id)) this.#banOf.set(id, ban);
    const joined = ban.heldBy.filter((id) => previous !== null && !previous.heldBy.includes(id));
    for (const id of joined) this.#add(id, { atMs, kind: "ban_placed", text: `in force already: ${doingText(ban)}` });
    const entry = entryOf(change);
    if (entry === null) return;
    for (const id of attacksOf(change)) this.#add(id, { atMs, ...entry });
    const { kind } = entry;
    if (ban.state !== "active") this.#announcements.delete(ban.id);
    else if (ban.heldBy.length > 0 && !ban.dryRun && (kind !== "rules_changed" || hasMoved(change))) {
      this.#announcements.set(ban.id, { prefix: ban.prefix.text, sinceMs: atMs, sentTo: new Set() });
    }
  }

  /** States of routes changed, or some time has passed since they did. */
  routesChanged(atMs: number): void {
    if (this.#announcements.size > EXACT_MAX && Math.abs(atMs - this.#lookedAtMs) < LOOK_MS) return;
    this.#lookedAtMs = atMs;
    for (const [id, { prefix, sinceMs, sentTo }] of this.#announcements) {
      const ban = this.#bans.active.get(prefix);
      if (ban?.id !== id || atMs - sinceMs > OPEN_MS) {
        this.#announcements.delete(id);
        continue;
      }
      const state = this.#bans.routeState(ban);
      if (state?.kind !== "announced") continue;
      for (const neighbor of state.sentTo ?? []) {
        if (sentTo.has(neighbor)) continue;
        sentTo.add(neighbor);
        for (const attack of ban.heldBy) {
          this.#add(attack, { atMs, kind: "announced", text: doingText(ban), neighbor });
        }
      }
      if ((state.missingAt ?? []).length === 0) this.#announcements.delete(id);
    }
  }

  #of({ id, timeline }: Attack): readonly TimelineEntry[] {
    return this.#entries.get(id) ?? timeline;
  }

  #add(id: string, entry: TimelineEntry): void {
    if (entry.kind !== "detected" && !this.#entries.has(id)) return;
    const entries = this.#entries.get(id) ?? [];
    // A tick has one time, also for what happens while it is judged; and a wall clock may be set back.
    const atMs = Math.max(entry.atMs, entries.at(-1)?.atMs ?? entry.atMs);
    this.#entries.set(id, withEntry(entries, { ...entry, atMs }));
  }
}

function mitigationOf(ban: Ban): AttackMitigation {
  const { state, method, dryRun } = ban;
  return { isRejected: state === "rejected", method, route: doingText(ban), dryRun };
}

function attacksOf({ ban, previous }: BanChange): Set<string> {
  const own = ban.attackId === null ? [] : [ban.attackId];
  return new Set([...own, ...ban.heldBy, ...(previous?.heldBy ?? [])]);
}

/** null: nothing to write down, as for an extension. */
function entryOf(change: BanChange): Pick<TimelineEntry, "kind" | "text"> | null {
  const { ban, previous } = change;
  const kind = banChangeKind(change);
  switch (kind) {
    case null:
      return null;
    case "active":
      return { kind: "ban_placed", text: ban.dryRun ? `dry run: ${doingText(ban)}` : doingText(ban) };
    case "rejected":
      return { kind: "ban_refused", text: ban.reason ?? "" };
    case "withdrawn":
      return { kind: "ban_withdrawn", text: ban.reason ?? "" };
    case "dry_run":
      return { kind: "dry_run_changed", text: ban.dryRun ? "virtual" : "real" };
    case "changed": {
      const text = ban.fallback === null ? doingText(ban) : `${doingText(ban)} (${ban.fallback})`;
      if (ban.step !== previous?.step) {
        return { kind: rungLeft(change) === null ? "escalated" : "deescalated", text: `step ${ban.step}: ${text}` };
      }
      return { kind: ban.method === previous.method && !hasMoved(change) ? "rules_changed" : "method_changed", text };
    }
    default:
      return kind satisfies never;
  }
}

/** The ban of a spread attack follows it to another prefix. */
function hasMoved({ ban, previous }: BanChange): boolean {
  return previous !== null && ban.prefix.text !== previous.prefix.text;
}
