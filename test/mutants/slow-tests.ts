/**
 * Which test files start other programs: the service itself, network namespaces, routers, browsers. They take long, fail
 * by chance on a busy machine, and two of them may not run at once.
 */
import { dirname, join, normalize } from "node:path";
import { isNode, type Node, nameOf, stringOf, walk } from "./syntax.ts";
import { isTestFile, type ParsedFile, textOf } from "./test-graph.ts";

/** Folders with tests of the whole. */
const FOLDERS = /^test\/(scenario|contract|browser|lab|deploy|machines|mutants)\//;
/** Programs by their names on a command line, and files that are run. */
const PROGRAMS =
  /^(netns|unshare|nsenter|gobgpd|bird|systemctl|clickhouse-server|prometheus|.*\/chromium|.*src\/main\.ts)$/;

/** What one statement at the top of a file declares and uses. */
interface Declaration {
  readonly names: ReadonlySet<string>;
  readonly isProgram: boolean;
}

interface Module {
  /** By the name that they declare; under "" what declares nothing. */
  readonly declarations: ReadonlyMap<string, readonly Declaration[]>;
  /** By the name in this file: the file and the name there, "*" for all. */
  readonly imports: ReadonlyMap<string, { readonly path: string; readonly name: string }>;
}

/** Test files that start none of these programs. A fixture that could, but is not called to, does not count. */
export function inProcessTests(files: readonly ParsedFile[]): Set<string> {
  const isFixture = ({ path }: ParsedFile) => !path.startsWith("src/") || isTestFile(path);
  const modules = new Map(files.filter(isFixture).map((file) => [file.path, moduleOf(file)]));
  const known = new Map<string, boolean>();
  const starts = (path: string, name: string): boolean => {
    const key = `${path} ${name}`;
    const answer = known.get(key);
    if (answer !== undefined) return answer;
    known.set(key, false);
    const module = modules.get(path);
    const imported = module?.imports.get(name);
    const declared = name === "*" ? [...(module?.declarations.values() ?? [])].flat() : module?.declarations.get(name);
    const result =
      (imported !== undefined && starts(imported.path, imported.name)) ||
      (declared ?? []).some((each) => each.isProgram || [...each.names].some((used) => starts(path, used)));
    known.set(key, result);
    return result;
  };
  const tests = files.filter(({ path }) => isTestFile(path) && !FOLDERS.test(path));
  return new Set(tests.map(({ path }) => path).filter((path) => !starts(path, "*")));
}

function moduleOf({ path, program }: ParsedFile): Module {
  const declarations = new Map<string, Declaration[]>();
  const imports = new Map<string, { path: string; name: string }>();
  for (const statement of program["body"] as Node[]) {
    const source = stringOf(statement["source"]);
    if (source !== null) {
      const target = normalize(join(dirname(path), source));
      for (const each of specifiersOf(statement)) imports.set(each.local, { path: target, name: each.imported });
      continue;
    }
    const declaration = declarationOf(statement);
    for (const name of declaredBy(statement)) declarations.set(name, [...(declarations.get(name) ?? []), declaration]);
  }
  return { declarations, imports };
}

function specifiersOf(statement: Node): { local: string; imported: string }[] {
  if (statement["importKind"] === "type" || statement["exportKind"] === "type") return [];
  return ((statement["specifiers"] ?? []) as Node[]).map((specifier) =>
    statement.type === "ImportDeclaration"
      ? { local: nameOf(specifier["local"]), imported: nameOf(specifier["imported"]) || "*" }
      : { local: nameOf(specifier["exported"]), imported: nameOf(specifier["local"]) },
  );
}

function declarationOf(statement: Node): Declaration {
  let isProgram = false;
  walk(statement, (node) => {
    isProgram ||= PROGRAMS.test(textOf(node) ?? "");
  });
  return { names: new Set(identifiersIn(statement)), isProgram };
}

function declaredBy(statement: Node): string[] {
  const declaration = isNode(statement["declaration"]) ? statement["declaration"] : statement;
  const declarators = (declaration["declarations"] ?? [declaration]) as Node[];
  return declarators.flatMap(({ id }) => (isNode(id) ? identifiersIn(id) : [""]));
}

function identifiersIn(node: Node): string[] {
  const names: string[] = [];
  walk(node, (each) => void (each.type === "Identifier" && names.push(nameOf(each))));
  return names;
}
