/**
 * Joins the bans of several brains, each of which this node polls: a victim gets the rules of all of them, the newest first,
 * for as long as any of them wants. Pure.
 */
import { matchText } from "../../mitigation/rules/match.ts";
import { type Rule, rulesText } from "../../mitigation/rules/rule.ts";
import type { ScrubFilter } from "../../mitigation/scrub/scrub-filter.ts";
import type { HeldBan } from "./enforcement.ts";

/** A ban of one brain. */
export interface SourcedBan extends HeldBan {
  /** When its rules or its filter last changed, by this node's monotonic clock. */
  readonly changedAtMs: number;
}

/** The bans of a new document, which keep the time of those before that had the same rules. */
export function sourced(
  bans: readonly HeldBan[],
  before: readonly SourcedBan[],
  monotonicMs: number,
): readonly SourcedBan[] {
  const known = new Map(before.map((ban) => [ban.prefix.text, ban]));
  return bans.map((ban) => {
    const was = known.get(ban.prefix.text);
    return { ...ban, changedAtMs: was !== undefined && doSame(was, ban) ? was.changedAtMs : monotonicMs };
  });
}

/** @param ofBrains the bans of each brain, of which none has expired; of each brain one for a prefix. */
export function joinedBans(ofBrains: readonly (readonly SourcedBan[])[]): readonly HeldBan[] {
  const [only, ...others] = ofBrains.filter((bans) => bans.length > 0);
  if (others.length === 0) return only ?? [];
  return [...Map.groupBy(ofBrains.flat(), ({ prefix }) => prefix.text).values()].map(joined);
}

function joined(bans: readonly SourcedBan[]): HeldBan {
  const real = bans.filter(({ isVirtual }) => !isVirtual);
  const [newest, ...older] = (real.length > 0 ? real : bans).toSorted((a, b) => b.changedAtMs - a.changedAtMs);
  const { prefix, isVirtual } = newest as SourcedBan;
  const all = [newest as SourcedBan, ...older];
  return {
    prefix,
    isVirtual,
    expiresAtMs: Math.max(...all.map(({ expiresAtMs }) => expiresAtMs)),
    rules: withoutRepetition(all.flatMap(({ rules }) => rules)),
    filter: all.find(({ filter }) => filter !== null)?.filter ?? null,
  };
}

/** If several rules match the same packets, the first decides. */
function withoutRepetition(rules: readonly Rule[]): readonly Rule[] {
  const byMatch = new Map<string, Rule>();
  for (const rule of rules) {
    const match = matchText(rule);
    if (!byMatch.has(match)) byMatch.set(match, rule);
  }
  return [...byMatch.values()];
}

function doSame(a: HeldBan, b: HeldBan): boolean {
  const [ofA, ofB] = [a, b].map(({ rules, filter }) => `${rulesText(rules)} ${filterText(filter)}`);
  return ofA === ofB;
}

function filterText(filter: ScrubFilter | null): string {
  return JSON.stringify(filter);
}

/** Stands for the documents of all brains in force: that of one brain alone is its own. */
export function joinedEtag(etags: readonly (string | null)[]): string | null {
  return etags.length === 1 ? (etags[0] ?? null) : JSON.stringify(etags);
}

/** The document of one brain among those that joinedEtag() stands for; null: none. */
export function etagAt(joinedText: string | null, brain: number, brains: number): string | null {
  if (joinedText === null || brains === 1) return joinedText;
  return (JSON.parse(joinedText) as (string | null)[])[brain] ?? null;
}
