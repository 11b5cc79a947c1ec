/** How several that took more than there is room for give some of it back: those with most first. Pure. */

/** The size that each of those keeps that must give: the same for all. With the others' sizes it makes the room. */
export function sharesLeft(sizes: ReadonlyMap<string, number>, room: number): ReadonlyMap<string, number> {
  const ascending = [...sizes.values()].sort((a, b) => a - b);
  let left = room;
  for (const [i, size] of ascending.entries()) {
    const share = Math.max(0, left / (ascending.length - i));
    if (size > share) return new Map([...sizes].filter(([, own]) => own > share).map(([name]) => [name, share]));
    left -= size;
  }
  return new Map();
}
