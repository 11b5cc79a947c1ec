/** What a version is, by Semantic Versioning 2.0.0; `Bun.semver` orders them, and takes others as well. */

const NUMBER = "(?:0|[1-9]\\d{0,14})";
const IDENTIFIER = "(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)";
const VERSION = new RegExp(
  `^v?${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${IDENTIFIER}(?:\\.${IDENTIFIER})*)?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);
const LENGTH_MAX = 128;

/** Strict, but for a `v` in front, as tags have it. */
export function isVersion(text: string): boolean {
  return text.length <= LENGTH_MAX && VERSION.test(text);
}
