/** Which of two versions is the newer, by the rules of Semantic Versioning 2.0.0, section 11. */

export interface Version {
  readonly core: readonly [major: number, minor: number, patch: number];
  /** Empty: a release. */
  readonly prerelease: readonly string[];
}

const NUMBER = "(0|[1-9]\\d{0,14})";
const IDENTIFIER = "(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)";
const VERSION = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${IDENTIFIER}(?:\\.${IDENTIFIER})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);
const LENGTH_MAX = 128;

/** Strict, but for a `v` in front, as tags have it. null: no version. */
export function parseVersion(text: string): Version | null {
  const match = text.length > LENGTH_MAX ? null : VERSION.exec(text.replace(/^v/, ""));
  if (match === null) return null;
  const [, major, minor, patch, prerelease] = match;
  return { core: [Number(major), Number(minor), Number(patch)], prerelease: prerelease?.split(".") ?? [] };
}

/** Negative: `a` is older. What is built, after a `+`, does not count. */
export function compareVersions(a: Version, b: Version): number {
  for (const [i, part] of a.core.entries()) {
    const difference = part - (b.core[i] as number);
    if (difference !== 0) return difference;
  }
  return comparePrereleases(a.prerelease, b.prerelease);
}

/** Any of them comes before the release; a longer one after the shorter that it begins with. */
function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (const [i, identifier] of a.entries()) {
    const other = b[i];
    if (other === undefined) return 1;
    const difference = compareIdentifiers(identifier, other);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Numbers by value and before words, words by their ASCII codes. */
function compareIdentifiers(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  if (isNumber && a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
