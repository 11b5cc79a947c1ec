/**
 * What docs/interface.md says, statement by statement, and which tests hold it: a statement is an anchor within the text,
 * and a test holds the one whose words its name begins with.
 */
import { explicitAnchors } from "../fixtures/markdown.ts";

export interface Topic {
  /** Its heading, without marks. */
  readonly name: string;
  /** Anchors of its statements. */
  readonly statements: readonly string[];
}

/** Topics with statements, in the page's order. */
export function topicsOf(page: string): readonly Topic[] {
  const topics: { readonly name: string; readonly statements: string[] }[] = [{ name: "", statements: [] }];
  for (const { id, heading } of explicitAnchors(page)) {
    if (heading === null) topics.at(-1)?.statements.push(id);
    else topics.push({ name: heading, statements: [] });
  }
  return topics.filter(({ statements }) => statements.length > 0);
}

/**
 * The statement that a test holds: of those whose words begin its name the longest, since `ban-state-goes-from-none` says
 * more than `ban-state`. null: none.
 *
 * @param name of the test, after the names of its groups.
 */
export function heldStatement(name: string, statements: ReadonlySet<string>): string | null {
  const words = wordsOf(name);
  for (let count = words.length; count > 0; count--) {
    const anchor = words.slice(0, count).join("-");
    if (statements.has(anchor)) return anchor;
  }
  return null;
}

/** As anchors are written: `GET /api/v1/bans` is `get-api-v1-bans`, and `a tenant's` is `a-tenants`. */
function wordsOf(name: string): string[] {
  return name
    .toLowerCase()
    .replaceAll("'", "")
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}
