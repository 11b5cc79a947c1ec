/** The attacks of the history in a range, page by page until all are read or a bound is reached. */
import { useEffect, useState } from "preact/hooks";
import type { AttackWire, EndedAttacksWire } from "../../src/http/wire/attack.ts";
import { HISTORY_LIST_MAX, HISTORY_LIST_STEP } from "../../src/limits.ts";
import { type Failure, read } from "./client.ts";

export interface AttackPages {
  readonly attacks: readonly AttackWire[];
  readonly isAvailable: boolean;
  /**
   * `reading`: more are coming; `whole`: these are all; `cut`: there are older ones; `failed`: the next page could not be
   * read.
   */
  readonly state: "reading" | "whole" | "cut" | "failed";
  /** null: none. */
  readonly failure: Failure | null;
}

interface ReadAttacks {
  readonly pages: AttackPages;
  /** Goes on after a cut or a failure; null: at the bound, or nothing to go on with. */
  readonly onMore: (() => void) | null;
}

const NONE: AttackPages = { attacks: [], isAvailable: true, state: "reading", failure: null };

/** @param path with its query; another path begins again at its first page. null: nothing is requested. */
export function useAttackPages(path: string | null): ReadAttacks {
  const [known, setKnown] = useState<{
    readonly of: string | null;
    readonly pages: AttackPages;
    readonly next: string;
  }>({
    of: null,
    pages: NONE,
    next: "",
  });
  // Rows of another filter are never shown, not even for one drawing.
  const { pages, next } = known.of === path ? known : { pages: NONE, next: path ?? "" };
  const [turn, setTurn] = useState({ path, count: 0 });
  const count = turn.path === path ? turn.count : 0;
  useEffect(() => {
    if (path === null) return undefined;
    let isGone = false;
    const show = (shown: AttackPages, nextPath: string) => {
      if (!isGone) setKnown({ of: path, pages: shown, next: nextPath });
    };
    void readPages({ path: next, before: pages.attacks, isGone: () => isGone, show });
    return () => {
      isGone = true;
    };
  }, [path, count]);
  const canGoOn = pages.state === "failed" || (pages.state === "cut" && pages.attacks.length < HISTORY_LIST_MAX);
  return { pages, onMore: canGoOn ? () => setTurn({ path, count: count + 1 }) : null };
}

interface PageReading {
  readonly path: string;
  readonly before: readonly AttackWire[];
  readonly isGone: () => boolean;
  readonly show: (pages: AttackPages, next: string) => void;
}

async function readPages({ path, before, isGone, show }: PageReading): Promise<void> {
  const most = Math.min(HISTORY_LIST_MAX, before.length + HISTORY_LIST_STEP);
  for (let [attacks, at] = [before, path]; !isGone(); ) {
    const answer = await read<EndedAttacksWire>(at);
    if (answer.kind !== "answer") {
      show({ attacks, isAvailable: true, state: "failed", failure: answer }, at);
      return;
    }
    const { data } = answer;
    attacks = [...attacks, ...data.attacks];
    if (data.next !== undefined) at = pathOfNext(path, data.next);
    const state = data.next === undefined ? "whole" : attacks.length >= most ? "cut" : "reading";
    show({ attacks, isAvailable: data.available, state, failure: null }, at);
    if (state !== "reading") return;
  }
}

function pathOfNext(path: string, next: NonNullable<EndedAttacksWire["next"]>): string {
  const [route = "", query = ""] = path.split("?", 2);
  const parameters = new URLSearchParams(query);
  for (const [key, value] of Object.entries(next)) parameters.set(key, value);
  return `${route}?${parameters}`;
}
