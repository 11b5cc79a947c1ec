/** Keys of a list that an entry before has already, as names that must be unique. */

/** With the places of both. What could not be read is null or undefined, and is no key. */
export function* repeated<Key extends string | number>(
  keys: readonly (Key | null | undefined)[] | undefined,
): Generator<readonly [key: Key, at: number, first: number]> {
  const first = new Map<Key, number>();
  for (const [i, key] of (keys ?? []).entries()) {
    if (key === null || key === undefined) continue;
    const other = first.get(key);
    if (other === undefined) first.set(key, i);
    else yield [key, i, other];
  }
}
