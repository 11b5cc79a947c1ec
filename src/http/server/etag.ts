/** The header If-None-Match (RFC 9110, section 13.1.2), by weak comparison, since all tags are ours. */

/** One entry of the list: a quoted tag, weak or not, or one whose quotes a client has removed. */
const ENTRY = /\s*(?:(?:W\/)?("[^"]*")|([^\s",]+))\s*(?:,|$)/y;

/** The documents that a caller has: these, or, with `*`, the current one. */
export type HeldTags = ReadonlySet<string> | "any";

/** null: no header, or an invalid one; then the caller has no document. Tags include their quotes. */
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
