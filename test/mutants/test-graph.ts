/** Which test files run a source file's code, nearest first, by what they import. */
import { basename, dirname, join, normalize } from "node:path";
import type { SourceFile } from "../source-tree.ts";
import { isProduction } from "./draw.ts";
import { isNode, type Node, nameOf, parse, stringOf, walk } from "./syntax.ts";

export interface ParsedFile extends SourceFile {
  readonly program: Node;
}

export function parsed(file: SourceFile): ParsedFile {
  return { ...file, program: parse(file.path, file.text) };
}

export interface GraphOptions {
  readonly files: readonly ParsedFile[];
  /** Test files that may be run. */
  readonly tests: ReadonlySet<string>;
}

export class TestGraph {
  readonly #tests: ReadonlySet<string>;
  readonly #imports = new Map<string, readonly string[]>();
  readonly #importers = new Map<string, string[]>();
  readonly #breadths = new Map<string, number>();

  constructor({ files, tests }: GraphOptions) {
    this.#tests = tests;
    const paths = new Set(files.map(({ path }) => path));
    for (const file of files) {
      const own = [...modulesOf(file)].filter((path) => paths.has(path));
      this.#imports.set(file.path, own);
      for (const path of own) this.#importers.set(path, [...(this.#importers.get(path) ?? []), file.path]);
    }
  }

  /** The test of the file's own name first, then by the number of imports between; of equals that which imports least. */
  testsOf(path: string): string[] {
    const distances = distancesFrom(path, this.#importers);
    const own = path.replace(/\.ts$/, ".test.ts");
    return [...distances]
      .filter(([reached]) => this.#tests.has(reached))
      .map(([test, distance]) => ({ test, distance: test === own ? 0 : distance, breadth: this.#breadth(test) }))
      .sort((a, b) => a.distance - b.distance || a.breadth - b.breadth || (a.test < b.test ? -1 : 1))
      .map(({ test }) => test);
  }

  #breadth(test: string): number {
    const breadth = this.#breadths.get(test) ?? distancesFrom(test, this.#imports).size;
    this.#breadths.set(test, breadth);
    return breadth;
  }
}

function distancesFrom(start: string, edges: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const distances = new Map([[start, 0]]);
  // A map goes on to what is added to it while it is walked.
  for (const [path, distance] of distances) {
    for (const next of edges.get(path) ?? []) if (!distances.has(next)) distances.set(next, distance + 1);
  }
  return distances;
}

/**
 * Files that a file imports, not for types alone. Code of the service that names a file in another string starts it as a
 * thread, which runs in the same process.
 */
function modulesOf(file: ParsedFile): Set<string> {
  const { path, program } = file;
  const modules = new Set<string>();
  const add = (name: string) => modules.add(normalize(join(dirname(path), name)));
  walk(program, (node, [parent]) => {
    if (node["importKind"] === "type" || node["exportKind"] === "type") return;
    const source = stringOf(node["source"]);
    if (source?.startsWith(".")) add(source);
    if (node.type === "CallExpression" && nameOf(node["callee"]) === "require")
      add(stringOf(argumentsOf(node)[0]) ?? "");
    const name = isProduction(file) && parent?.["source"] !== node ? textOf(node) : null;
    if (name !== null && /\.tsx?$/.test(name)) add(name.replace(/^\//, ""));
  });
  return modules;
}

/** A string, or the end of one that begins with a folder: `${import.meta.dir}/history-worker.ts`. */
export function textOf(node: Node): string | null {
  if (node.type !== "TemplateElement") return stringOf(node);
  return (node["value"] as { readonly cooked: string | null }).cooked;
}

function argumentsOf(node: Node): Node[] {
  return Array.isArray(node["arguments"]) ? (node["arguments"] as unknown[]).filter(isNode) : [];
}

export function isTestFile(path: string): boolean {
  return /\.test\.tsx?$/.test(basename(path));
}
