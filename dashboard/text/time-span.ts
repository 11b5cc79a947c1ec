/** A time range of the history that a user has chosen. Pure. */
import { t } from "../language.ts";

export type TimeSpan =
  /** Length of the range, back from now. */
  | { readonly kind: "last"; readonly seconds: number }
  /** RFC 3339; null: now, or an hour before `to`. */
  | { readonly kind: "between"; readonly from: string | null; readonly to: string | null };

const DAY_MS = 86_400_000;
const RANGE_DAYS_MAX = 31;

/** The query of a history route. */
export function rangeQuery(span: TimeSpan, nowMs: number, others: Readonly<Record<string, string>>): URLSearchParams {
  const query = new URLSearchParams();
  const from = span.kind === "last" ? new Date(nowMs - span.seconds * 1000).toISOString() : span.from;
  const to = span.kind === "last" ? null : span.to;
  if (from !== null) query.set("from", from);
  if (to !== null) query.set("to", to);
  for (const [key, value] of Object.entries(others)) query.set(key, value);
  return query;
}

/** The fault of the range; null: none. */
export function spanFault(span: TimeSpan, nowMs: number): string | null {
  if (span.kind === "last") return null;
  const to = span.to === null ? nowMs : Date.parse(span.to);
  const from = span.from === null ? to - 1 : Date.parse(span.from);
  if (to <= from) return span.to === null ? t`It has not come yet.` : t`After the begin.`;
  return to - from > RANGE_DAYS_MAX * DAY_MS ? t`At most ${RANGE_DAYS_MAX} days.` : null;
}
