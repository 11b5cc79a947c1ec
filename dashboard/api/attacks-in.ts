/** The attacks of a time range: those that the lists have, and those of the history, which are read once. */
import { useEffect, useMemo } from "preact/hooks";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { type Range, rangeSpan } from "../text/format/ranges.ts";
import { useAttackPages } from "./attack-pages.ts";
import { serviceNow } from "./contact.ts";
import { attacks } from "./live.ts";

const DAY_SECONDS = 86_400;

export interface AttacksIn {
  /** Newest first; also some that ended after the range. */
  readonly known: readonly AttackWire[];
  /** How many were read, where there are older ones; null: all were. */
  readonly newest: number | null;
}

export function useAttacksIn(range: Range): AttacksIn {
  const { value } = attacks;
  const path = useMemo(() => {
    const { from, to } = rangeSpan(range, serviceNow());
    const text = (seconds: number) => new Date(seconds * 1000).toISOString();
    // Those that went on in the range may have ended after it.
    const end = typeof range === "string" ? {} : { to: text(Math.min(serviceNow() / 1000, to + DAY_SECONDS)) };
    return `/api/v1/attacks/history?${new URLSearchParams({ from: text(from), ...end })}`;
  }, [range]);
  const { pages, onMore } = useAttackPages(path);
  const isCut = pages.state === "cut";
  // All of the range, as far as a page reads at all.
  useEffect(() => {
    if (isCut) onMore?.();
  }, [isCut, pages.attacks.length]);
  const known = useMemo(() => {
    const { active, recent } = value.kind === "ready" ? value.data : { active: [], recent: [] };
    const all = [...active, ...recent, ...pages.attacks];
    return [...new Map(all.map((attack) => [attack.id, attack])).values()];
  }, [value, pages]);
  return { known, newest: isCut && onMore === null ? known.length : null };
}
