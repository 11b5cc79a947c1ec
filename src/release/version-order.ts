/** Checks versions by Semantic Versioning 2.0.0; `Bun.semver`, which orders them, also accepts others. */

const NUMBER = "(?:0|[1-9]\\d{0,14})";
const IDENTIFIER = "(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)";
const VERSION = new RegExp(
  `^v?${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${IDENTIFIER}(?:\\.${IDENTIFIER})*)?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);
const LENGTH_MAX = 128;

/** Strict, except for a leading `v`, as in tags. */
export function isVersion(text: string): boolean {
  return text.length <= LENGTH_MAX && VERSION.test(text);
}
