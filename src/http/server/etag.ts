/** The header If-None-Match (RFC 9110, section 13.1.2), by weak comparison: the bytes that a tag names are ours anyway. */

/** One entry of the list: a tag in quotes, weak or not, or one that a client has bared of them. */
const ENTRY = /\s*(?:(?:W\/)?("[^"]*")|([^\s",]+))\s*(?:,|$)/y;

/** Which documents a caller has: these, or, with `*`, whichever is current when he asks. */
export type HeldTags = ReadonlySet<string> | "any";

/** null: no header, or none that can be read; then the caller has nothing. Tags come with their quotes. */
export function readIfNoneMatch(header: string | null): HeldTags | null {
  const text = header?.trim() ?? "";
  if (text === "") return null;
  if (text === "*") return "any";
  const tags = new Set<string>();
  ENTRY.lastIndex = 0;
  while (ENTRY.lastIndex < text.length) {
    const entry = ENTRY.exec(text);
    if (entry === null) return null;
    tags.add(entry[1] ?? `"${entry[2]}"`);
  }
  return tags;
}
