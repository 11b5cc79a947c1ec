/**
 * A route that a neighbor is not to get carries the mark of that neighbor, a large community over which the speaker's
 * export policy rejects it. Marks never leave the speaker.
 */

/** Large community (RFC 8092) of a neighbor, as `1:2:3`. */
export type Mark = string;

/** Sorted. */
export type Marks = readonly Mark[];

export const NO_MARKS: Marks = [];

/** "FLWL", the first number of each mark. */
const FLOODWALL = 0x464c574c;

/** The same in each process, so that marks in an adopted speaker are understood. */
export function markOf(neighbor: string): Mark {
  const hash = Bun.hash.wyhash(neighbor);
  return `${FLOODWALL}:${hash >> 32n}:${hash & 0xffff_ffffn}`;
}

/** Those of the large communities that are marks: the policy of an external speaker may add others. */
export function marksIn(largeCommunities: readonly string[]): Marks {
  return largeCommunities.filter((text) => text.startsWith(`${FLOODWALL}:`)).sort();
}
