/** The decisions about an attack, one entry after the other. Bounded; knows nothing of the parts that decide. */

/** Entries of the timeline of one attack. */
export const TIMELINE_ENTRIES_MAX = 128;

export const TIMELINE_KINDS = [
  "detected",
  "classified",
  "reclassified",
  "ban_placed",
  "ban_refused",
  "announced",
  "rules_changed",
  "escalated",
  "deescalated",
  "method_changed",
  "dry_run_changed",
  "ban_withdrawn",
  "ended",
] as const;

export interface TimelineEntry {
  /** Wall clock, ms. */
  readonly atMs: number;
  readonly kind: (typeof TIMELINE_KINDS)[number];
  /** In words: the kind of attack, the route, the neighbor, why. Empty: the kind of the entry says it all. */
  readonly text: string;
  /** For `announced`: the address of the neighbor. */
  readonly neighbor?: string;
}

/** Beyond the bound the first half stays, with how it began, and of the second half the newest. */
export function withEntry(entries: readonly TimelineEntry[], entry: TimelineEntry): readonly TimelineEntry[] {
  if (entries.length < TIMELINE_ENTRIES_MAX) return [...entries, entry];
  const first = TIMELINE_ENTRIES_MAX / 2;
  return [...entries.slice(0, first), ...entries.slice(first + 1), entry];
}
