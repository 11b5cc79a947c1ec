/**
 * Draws mutants by lot. A lot depends on the seed and on the code around the change, not on its file or its line's number:
 * from a tree whose files have moved the same seed draws the same mutants, but for those whose own lines have changed.
 */
import { createHash } from "node:crypto";
import { isTest, type SourceFile } from "../source-tree.ts";
import { type Edit, type Site, sitesOf } from "./operators.ts";
import { parses } from "./syntax.ts";

export interface Mutant extends Edit {
  /** The same for the same change of the same line in the same function, whatever the seed and wherever the file. */
  readonly id: string;
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** The lines of code that change, without indentation. */
  readonly original: string;
  readonly mutated: string;
}

export interface DrawOptions {
  readonly files: readonly SourceFile[];
  readonly seed: number;
  readonly count: number;
}

/** One line of code that can be changed, and all changes that begin in it. */
interface MutableLine {
  readonly file: SourceFile;
  readonly number: number;
  readonly offset: number;
  readonly sites: readonly Site[];
  /** Its place in the code: function, text, and which of the lines with the same of both it is. */
  readonly key: string;
}

export function isProduction(file: SourceFile): boolean {
  return file.path.startsWith("src/") && file.path.endsWith(".ts") && !file.path.endsWith(".d.ts") && !isTest(file);
}

/** At most one mutant of a line, so that a folder has its share by lines; in the order of their lots. */
export function draw({ files, seed, count }: DrawOptions): Mutant[] {
  const lines = linesOf(files)
    .map((line) => ({ line, lot: digest(seed, line.key) }))
    .sort((a, b) => (a.lot < b.lot ? -1 : 1));
  const mutants: Mutant[] = [];
  for (const { line } of lines) {
    if (mutants.length >= count) break;
    const mutant = drawInLine(line, seed);
    if (mutant !== null) mutants.push(mutant);
  }
  return mutants;
}

export function apply(text: string, { start, end, replacement }: Edit): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

function linesOf(files: readonly SourceFile[]): MutableLine[] {
  const seen = new Map<string, number>();
  return files
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .flatMap((file) => {
      const starts = [0, ...[...file.text.matchAll(/\n/g)].map(({ index }) => index + 1)];
      const sites = Map.groupBy(sitesOf(file.path, file.text), ({ start }) =>
        starts.findLastIndex((at) => at <= start),
      );
      return [...sites].map(([index, sites]) => {
        const offset = starts[index] as number;
        const text = file.text.slice(offset, starts[index + 1]);
        const place = `${sites[0]?.scope}\n${plain(text)}`;
        const earlier = seen.get(place) ?? 0;
        seen.set(place, earlier + 1);
        return { file, number: index + 1, offset, sites, key: `${place}\n${earlier}` };
      });
    });
}

function drawInLine({ file, number, offset, sites, key }: MutableLine, seed: number): Mutant | null {
  const { path, text } = file;
  const lots = sites
    .map((site) => {
      const change = `${key}\n${site.kind}\n${plain(text.slice(offset, site.start))}\n${site.replacement}`;
      return { site, change, lot: digest(seed, change) };
    })
    .sort((a, b) => (a.lot < b.lot ? -1 : 1));
  for (const { site, change } of lots) {
    const changed = apply(text, site);
    if (!parses(path, changed)) continue;
    const { kind, start, end, replacement } = site;
    const [original, mutated] = [
      linesAround(text, start, end),
      linesAround(changed, start, start + replacement.length),
    ];
    return { id: digest(0, change), path, line: number, kind, start, end, replacement, original, mutated };
  }
  return null;
}

function linesAround(text: string, start: number, end: number): string {
  const lineEnd = text.indexOf("\n", end);
  return plain(text.slice(text.lastIndexOf("\n", start - 1) + 1, lineEnd === -1 ? text.length : lineEnd));
}

/** Without indentation and line ends, which say nothing about the code. */
function plain(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}

function digest(seed: number, text: string): string {
  return createHash("sha256").update(`${seed}\n${text}`).digest("hex").slice(0, 16);
}
