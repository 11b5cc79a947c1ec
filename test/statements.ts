/**
 * What docs/interface.md says, statement by statement, and which tests hold it: a statement is an anchor within the text,
 * and a test holds those that its name, or the name of a group around it, ends with, each after a `#`.
 */
import { explicitAnchors } from "./fixtures/markdown.ts";

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

/** `a ban ends after its TTL #ban-ttl #ban-expires-at` has the tags `ban-ttl` and `ban-expires-at`. */
export function tagsOf(name: string): string[] {
  const [tags = ""] = /(?:\s#[a-z0-9-]+)+$/.exec(name) ?? [];
  return tags.split(/\s#/).slice(1);
}

/** Tags in the text of a test file, at the ends of strings. Those with `${` are made while the tests are defined. */
export function writtenTags(text: string): string[] {
  return [...text.matchAll(/\s#([a-z0-9-]+|\$\{[^"`]+)(?=["`]|\s#)/g)].map(([, tag = ""]) => tag);
}
