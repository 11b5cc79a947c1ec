/** When attacks lasted, as bands of a chart. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { Span } from "./format/ranges.ts";

type Lasted = Pick<AttackWire, "started_at" | "ended_at">;

/** Bands that touch are one, so that attacks at the same time do not make it darker. */
export function attackSpans(attacks: readonly Lasted[], { from, to }: Span): Span[] {
  const spans = attacks
    .map(({ started_at: begin, ended_at: end }) => ({
      from: Math.max(from, Date.parse(begin) / 1000),
      to: end === undefined ? to : Math.min(to, Date.parse(end) / 1000),
    }))
    .filter((span) => span.to > span.from)
    .sort((a, b) => a.from - b.from);
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last === undefined || span.from > last.to) merged.push(span);
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
  }
  return merged;
}

/** Those that went on at some time of the span. */
export function within<Attack extends Lasted>(attacks: readonly Attack[], { from, to }: Span): Attack[] {
  return attacks.filter(
    ({ started_at: begin, ended_at: end }) =>
      Date.parse(begin) / 1000 < to && (end === undefined || Date.parse(end) / 1000 > from),
  );
}
