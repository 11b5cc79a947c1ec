/**
 * The bit of each set. A rule in the kernel names a set by its bit, and sets and rules are not changed in one step: so a
 * set keeps its bit, also over restarts, and a new set does not take one that a rule may still name. Pure.
 */

/** By bit; "": none. */
export type SetNames = readonly string[];

/** @param before the names in force. There are at least as many bits as names. */
export function assignBits(before: SetNames, names: readonly string[]): string[] {
  const wanted = new Set(names);
  const kept = before.map((name) => (wanted.has(name) ? name : ""));
  const added = names.filter((name) => !kept.includes(name));
  // Bits that are freed now come last.
  const bits = [...kept.keys()].filter((bit) => kept[bit] === "");
  const free = [...bits.filter((bit) => before[bit] === ""), ...bits.filter((bit) => before[bit] !== "")];
  for (const [i, name] of added.entries()) {
    const bit = free[i];
    if (bit === undefined) throw new Error("bug: more sets than bits");
    kept[bit] = name;
  }
  return kept;
}
