/** The attacks of the history as a list: victims that were attacked repeatedly, and the file for a customer. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { formFor, t } from "../language.ts";
import { csvText } from "./format/csv.ts";
import { wholeNumber } from "./format/numbers.ts";
import { vectorName } from "./format/vectors.ts";
import { counted } from "./format/words.ts";
import { attackSubject } from "./mitigation.ts";

/** How many of the attacks each victim had. */
export function victimCounts(attacks: readonly AttackWire[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const attack of attacks) {
    const victim = attackSubject(attack);
    counts.set(victim, (counts.get(victim) ?? 0) + 1);
  }
  return counts;
}

/** `12 attacks on 7 victims, 3 of them attacked repeatedly`. */
export function victimsText(counts: ReadonlyMap<string, number>): string {
  const all = [...counts.values()];
  const sum = all.reduce((total, count) => total + count, 0);
  const repeated = all.filter((count) => count > 1).length;
  const text = t`${wholeNumber(sum)} ${formFor(sum, "attack|attacks")} on ${counted(counts.size, "victim")}`;
  return repeated === 0 ? text : t`${text}, ${repeated} of them attacked repeatedly`;
}

type Cell = string | number | boolean | undefined;

const CSV_COLUMNS: readonly (readonly [string, (attack: AttackWire) => Cell])[] = [
  ["victim", attackSubject],
  ["hostgroup", ({ group }) => group],
  ["tenant", ({ tenant }) => tenant],
  ["direction", ({ direction }) => direction],
  ["kind", ({ classification }) => (classification === undefined ? undefined : vectorName(classification.type))],
  ["started_at", ({ started_at: at }) => at],
  ["ended_at", ({ ended_at: at }) => at],
  ["duration_seconds", ({ volume }) => volume?.duration_seconds],
  ["peak_packets_per_second", ({ volume }) => volume?.peak_pps],
  ["peak_megabits_per_second", ({ volume }) => volume?.peak_mbps],
  ["peak_sampling_error", ({ volume }) => volume?.peak_sampling_error],
  ["packets", ({ volume }) => volume?.packets],
  ["bytes", ({ volume }) => (volume === undefined ? undefined : Math.round(volume.bits / 8))],
  ["dropped_packets", ({ volume }) => volume?.dropped_packets],
  ["not_counted_seconds", ({ volume }) => uncountedSeconds(volume?.not_counted ?? [])],
  ["metric", ({ metric }) => metric],
  ["threshold", ({ threshold }) => threshold],
  ["dry_run", ({ dry_run: isDry }) => isDry],
  ["id", ({ id }) => id],
];

/** undefined: all was counted. */
function uncountedSeconds(spans: readonly { readonly from: string; readonly to: string }[]): Cell {
  if (spans.length === 0) return undefined;
  return spans.reduce((sum, { from, to }) => sum + (Date.parse(to) - Date.parse(from)) / 1000, 0);
}

/**
 * Times in UTC; empty: not known.
 * @param newest the number of attacks among which these were found, while the range has more: said in a last line, since
 * the file may be passed on without the page; null: the range has no more
 */
export function attackCsv(attacks: readonly AttackWire[], newest: number | null): string {
  const rows = attacks.map((attack) => CSV_COLUMNS.map(([, of]) => String(of(attack) ?? "")));
  const header = CSV_COLUMNS.map(([name]) => name);
  return csvText([header, ...rows], newest === null ? null : `the range has more attacks than the newest ${newest}`);
}
