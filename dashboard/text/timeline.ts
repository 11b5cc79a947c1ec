/** The entries of an attack's timeline, in words. Pure. */
import type { TimelineWire } from "../../src/http/wire/attack-series.ts";

type Entry = TimelineWire["entries"][number];

const KINDS: Readonly<Record<Entry["kind"], string>> = {
  detected: "Detected",
  classified: "Classified",
  reclassified: "Classified again",
  ban_placed: "Ban placed",
  ban_refused: "Ban refused",
  announced: "Announced",
  rules_changed: "Rules changed",
  escalated: "Escalated",
  deescalated: "Back to a milder step",
  method_changed: "Method changed",
  dry_run_changed: "Dry run changed",
  ban_withdrawn: "Ban withdrawn",
  ended: "Ended",
};

export function entryTitle({ kind, neighbor }: Entry): string {
  const title = KINDS[kind] ?? kind;
  return neighbor === undefined ? title : `${title} to ${neighbor}`;
}

/** Seconds after the first entry: `+0.014 s`. */
export function afterFirst(entry: Entry, first: Entry): string {
  return `+${((Date.parse(entry.at) - Date.parse(first.at)) / 1000).toFixed(3)} s`;
}
