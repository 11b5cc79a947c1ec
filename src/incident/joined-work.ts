/**
 * The work of people on one incident at several brains: the same everywhere, in whatever order it arrives. Pure. Of
 * owners and classifications the one decided last stays, of acknowledgements the first, and of notes all.
 */
import type { Deed, IncidentNote, Work } from "./work.ts";

/** Returns the same object if nothing changes. */
export function joinedWork(own: Work, other: Work): Work {
  const [releasedMs, clearedMs] = [latest(own.releasedMs, other.releasedMs), latest(own.clearedMs, other.clearedMs)];
  const joined: Work = {
    owner: lastDecided([own.owner, own.releasedMs], [other.owner, other.releasedMs]),
    acknowledged: first(own.acknowledged, other.acknowledged),
    verdict: lastDecided([own.verdict, own.clearedMs], [other.verdict, other.clearedMs]),
    ...(releasedMs > 0 && { releasedMs }),
    ...(clearedMs > 0 && { clearedMs }),
    notes: joinedNotes(own.notes, other.notes),
  };
  return Bun.deepEquals(joined, own) ? own : joined;
}

/** null: no one has the incident, or it has no classification. Undone: the time of the last removal. */
type Decision<D extends Deed> = readonly [deed: D | null, undoneMs: number | undefined];

function lastDecided<D extends Deed>(a: Decision<D>, b: Decision<D>): D | null {
  const [aMs, bMs] = [decidedMs(a), decidedMs(b)];
  if (aMs !== bMs) return present(aMs > bMs ? a : b);
  const [one, other] = [present(a), present(b)];
  return textOf(one) >= textOf(other) ? one : other;
}

function decidedMs([deed, undoneMs = 0]: Decision<Deed>): number {
  return Math.max(deed?.atMs ?? 0, undoneMs);
}

function present<D extends Deed>([deed, undoneMs = 0]: Decision<D>): D | null {
  return deed !== null && deed.atMs >= undoneMs ? deed : null;
}

function first(a: Deed | null, b: Deed | null): Deed | null {
  if (a === null || b === null) return a ?? b;
  if (a.atMs !== b.atMs) return a.atMs < b.atMs ? a : b;
  return textOf(a) <= textOf(b) ? a : b;
}

/** In the order in which they were written; each has its place in it as its id. */
function joinedNotes(own: readonly IncidentNote[], others: readonly IncidentNote[]): readonly IncidentNote[] {
  const notes = new Map<string, IncidentNote>();
  for (const note of [...own, ...others]) {
    const name = textOf([note.atMs, note.by.tenant, note.by.operator, note.isHandover, note.text]);
    const known = notes.get(name);
    notes.set(name, { ...note, acknowledged: first(known?.acknowledged ?? null, note.acknowledged) });
  }
  const inOrder = [...notes].sort(([a, { atMs }], [b, { atMs: other }]) => atMs - other || (a < b ? -1 : 1));
  return inOrder.map(([, note], i) => ({ ...note, id: i + 1 }));
}

function latest(a = 0, b = 0): number {
  return Math.max(a, b);
}

function textOf(value: unknown): string {
  return JSON.stringify(value);
}
