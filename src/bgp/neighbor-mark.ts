/**
 * A route that a neighbor is not to get carries a mark of that neighbor, a large community over which the speaker's
 * export policy rejects it. Marks never leave the speaker. Their administrator is ours alone: the configuration takes no
 * community that has it.
 */
import { communityText, isMark, type LargeCommunity, MARKS_ADMINISTRATOR, parseCommunity } from "../net/community.ts";

/** Large community (RFC 8092) of a neighbor, as `1:2:3`. */
export type Mark = string;

/** Sorted. */
export type Marks = readonly Mark[];

export const NO_MARKS: Marks = [];

/** Why a neighbor is not to get a route: it takes no more of them, its policy or an order, or it has no room for more rules. */
export const MARK_KINDS = ["limit", "policy", "room"] as const;
export type MarkKind = (typeof MARK_KINDS)[number];

/** The same in each process, so that marks in an adopted speaker are understood. */
export function markOf(neighbor: string, kind: MarkKind = "limit"): Mark {
  const hash = Bun.hash.wyhash(neighbor);
  return `${MARKS_ADMINISTRATOR}:${hash >> 32n}:${(hash & 0xffff_ffffn) ^ BigInt(MARK_KINDS.indexOf(kind))}`;
}

export function markCommunities(marks: Marks): readonly LargeCommunity[] {
  return marks.map(parseCommunity).filter((community) => community?.kind === "large");
}

/** Those of the communities that are marks. */
export function marksIn(communities: readonly LargeCommunity[]): Marks {
  return communities.filter(isMark).map(communityText).sort();
}
