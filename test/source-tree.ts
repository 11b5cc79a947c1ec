/** The project's own files and what they import or include, for the tests that hold the design's arrows. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize, relative } from "node:path";

export const ROOT = join(import.meta.dir, "..");

/** Not ours to judge: installed, built, or made by a generator. */
const NOT_OURS = new Set(["node_modules", "build", ".git", "proto"]);

export interface SourceFile {
  /** From the root of the project. */
  readonly path: string;
  readonly text: string;
}

/** All text files below the folders, or of the whole project. */
export function sourceFiles(...folders: readonly string[]): SourceFile[] {
  return (folders.length === 0 ? ["."] : folders).flatMap((folder) => filesBelow(join(ROOT, folder)));
}

function filesBelow(folder: string): SourceFile[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesBelow(path);
    if (!entry.isFile()) return [];
    const bytes = readFileSync(path);
    return bytes.includes(0) ? [] : [{ path: relative(ROOT, path), text: bytes.toString("utf8") }];
  });
}

export function isTest({ path }: SourceFile): boolean {
  return path.endsWith(".test.ts") || path.startsWith("test/") || path.startsWith("addon/test/");
}

/** Modules that a TypeScript file names: paths from the project's root for its own, names for packages. */
export function importsOf({ path, text }: SourceFile): string[] {
  const pattern = /(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*["']([^"']+)["']/g;
  return [...text.matchAll(pattern)].map(([, name = ""]) =>
    name.startsWith(".") ? normalize(join(dirname(path), name)) : name,
  );
}

/** Names between the quotes or angle brackets of a C or C++ file's includes. */
export function includesOf({ text }: SourceFile): string[] {
  return [...text.matchAll(/^\s*#\s*include\s*[<"]([^>"]+)[>"]/gm)].map(([, name = ""]) => basename(name));
}

/** The code alone. A string that holds a comment's start is cut short, which makes no rule stricter. */
export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|[^:"'`])\/\/.*$/gm, "$1");
}

/** `path:line` of every match. */
export function placesOf(pattern: RegExp, { path, text }: SourceFile): string[] {
  return text.split("\n").flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}: ${line.trim()}`] : []));
}
