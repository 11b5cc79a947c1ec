/**
 * Keys that a mapping has in common with another one, word for word, so that the page describes them once: those of a
 * hostgroup and of the top level, of two kinds of thresholds, of the service and of a scrub node.
 */

/** A row of a table, as it is printed. */
export interface ReferenceRow {
  /** Within its mapping: `floor.pps`, `ports[]`. */
  readonly path: string;
  readonly type: string;
  readonly fallback: string;
  readonly allowed: string;
  readonly change: string;
  readonly meaning: string;
}

/** A mapping, or the items of a list of mappings. */
export interface ReferenceMapping {
  /** In its file. */
  readonly path: string;
  /** The heading that it stands under. */
  readonly anchor: string;
  readonly isSection: boolean;
  readonly rows: readonly ReferenceRow[];
}

export interface Repeat {
  /** The keys of the mapping that the other one has too. */
  readonly names: ReadonlySet<string>;
  readonly of: ReferenceMapping;
  /** It has no other keys, and neither has the other one. */
  readonly isWhole: boolean;
  /** A change of them needs a restart, unlike there. */
  readonly needsRestart: boolean;
}

/** Fewer rows would not be worth a reference. */
const ROWS_MIN = 3;

/** By path and anchor of the mapping. @param mappings of all files, in the order of the page, outer ones first. */
export function repeatsIn(mappings: readonly ReferenceMapping[]): Map<ReferenceMapping, Repeat> {
  const repeats = new Map<ReferenceMapping, Repeat>();
  const hidden = new Set<string>();
  for (const [i, mapping] of mappings.entries()) {
    if (hidden.has(placeOf(mapping))) continue;
    const others = mappings.filter((other, at) => {
      const isBefore = at < i && (other.isSection || !mapping.isSection);
      const isDescribed = !hidden.has(placeOf(other)) && !repeats.has(other);
      return (isBefore || (other.isSection && !mapping.isSection)) && isDescribed && !areNested(mapping, other);
    });
    // A mapping of a hostgroup is compared with the section of its name alone.
    const namesakes = others.filter((other) => other.isSection && lastOf(other) === lastOf(mapping));
    const candidates = namesakes.length > 0 ? namesakes : others;
    const best = candidates.map((other) => repeatOf(mapping, other)).reduce(larger, null);
    if (best === null) continue;
    repeats.set(mapping, best);
    for (const inner of mappings) if (isHidden(inner, mapping, best)) hidden.add(placeOf(inner));
  }
  return repeats;
}

/** The key of a mapping to which a row belongs: `floor` of `floor.pps`. */
export function nameOf(row: Pick<ReferenceRow, "path">): string {
  return /^\w+/.exec(row.path)?.[0] ?? "";
}

function repeatOf(mapping: ReferenceMapping, of: ReferenceMapping): Repeat | null {
  const theirs = new Map(of.rows.map((row) => [row.path, row]));
  const different = new Set(mapping.rows.filter((row) => !isSame(row, theirs.get(row.path))).map(nameOf));
  const names = new Set(mapping.rows.map(nameOf).filter((name) => !different.has(name)));
  const same = mapping.rows.filter((row) => names.has(nameOf(row)));
  if (same.length < ROWS_MIN) return null;
  const changes = same.filter((row) => row.change !== theirs.get(row.path)?.change);
  if (changes.some(({ change }) => change !== "restart")) return null;
  const isWhole = different.size === 0 && of.rows.every((row) => names.has(nameOf(row)));
  return { names, of, isWhole, needsRestart: changes.length > 0 };
}

function isSame(row: ReferenceRow, other: ReferenceRow | undefined): boolean {
  if (other === undefined) return false;
  const isFallback = row.fallback === other.fallback || row.fallback === "inherited";
  return isFallback && row.type === other.type && row.allowed === other.allowed && row.meaning === other.meaning;
}

function larger(best: Repeat | null, next: Repeat | null): Repeat | null {
  if (best === null || next === null) return best ?? next;
  return next.names.size > best.names.size ? next : best;
}

function lastOf({ path }: ReferenceMapping): string {
  return path.split(".").at(-1) ?? "";
}

function placeOf({ path, anchor }: ReferenceMapping): string {
  return `${anchor} ${path}`;
}

function areNested(a: ReferenceMapping, b: ReferenceMapping): boolean {
  return a.anchor === b.anchor && (a.path.startsWith(b.path) || b.path.startsWith(a.path));
}

function isHidden(inner: ReferenceMapping, { path, anchor }: ReferenceMapping, { names }: Repeat): boolean {
  const within = inner.path.slice(path.length + 1);
  return inner.anchor === anchor && inner.path.startsWith(`${path}.`) && names.has(nameOf({ path: within }));
}
