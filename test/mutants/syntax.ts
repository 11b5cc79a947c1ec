/** Syntax trees of TypeScript, by Vite's parser: TypeScript 7 has none that a script may call without its unstable API. */
import { parseSync } from "vite";

/** A node of ESTree; offsets are those of a JavaScript string. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [property: string]: unknown;
}

/** Types that hold code which runs; all other nodes of TypeScript are gone at run time. */
const WRAPPERS = new Set([
  "TSAsExpression",
  "TSNonNullExpression",
  "TSSatisfiesExpression",
  "TSInstantiationExpression",
]);

/** The program of a file. Throws when the text does not parse. */
export function parse(path: string, text: string): Node {
  const { program, errors } = parseSync(path, text, { sourceType: "module" });
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`);
  return program as unknown as Node;
}

export function parses(path: string, text: string): boolean {
  return parseSync(path, text, { sourceType: "module" }).errors.length === 0;
}

/** Visits every node that runs, parents first; `ancestors` begins with the nearest. */
export function walk(node: Node, visit: (node: Node, ancestors: readonly Node[]) => void): void {
  const ancestors: Node[] = [];
  const enter = (current: Node): void => {
    visit(current, ancestors);
    ancestors.unshift(current);
    for (const child of childrenOf(current)) enter(child);
    ancestors.shift();
  };
  enter(node);
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value]))
    .filter(isNode)
    .filter(({ type }) => !type.startsWith("TS") || WRAPPERS.has(type));
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";
}

/** The name of an identifier, of a property by its name, or of what is called by its last name; else "". */
export function nameOf(node: unknown): string {
  if (!isNode(node)) return "";
  switch (node.type) {
    case "Identifier":
    case "PrivateIdentifier":
      return String(node["name"]);
    case "MemberExpression":
      return nameOf(node["property"]);
    case "Literal":
      return String(node["value"]);
    case "ParenthesizedExpression":
    case "ChainExpression":
    case "TSNonNullExpression":
      return nameOf(node["expression"]);
    default:
      return "";
  }
}

/** The text of a string that has no parts to be filled in; null of any other node. */
export function stringOf(node: unknown): string | null {
  return isNode(node) && node.type === "Literal" && typeof node["value"] === "string" ? node["value"] : null;
}
