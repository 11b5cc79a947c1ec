/** What may be changed in a file's code so that a test should notice. Comments, types and texts for people stay as they are. */
import { isNode, type Node, nameOf, parse, stringOf, walk } from "./syntax.ts";

/** Operators with one other form. */
const OPERATORS = {
  comparison: {
    ...{ "===": "!==", "!==": "===", "==": "!=", "!=": "==" },
    ...{ "<": ">=", "<=": ">", ">": "<=", ">=": "<" },
  },
  boundary: { "<": "<=", "<=": "<", ">": ">=", ">=": ">" },
  arithmetic: { "+": "-", "-": "+", "+=": "-=", "-=": "+=" },
  logical: { "&&": "||", "||": "&&" },
} satisfies Record<string, Readonly<Record<string, string>>>;

export type Kind =
  | keyof typeof OPERATORS
  | "condition"
  | "number"
  | "string"
  | "boolean"
  | "fallback"
  | "call"
  | "return";

/** Replaces the text from `start` to `end`. */
export interface Edit {
  readonly kind: Kind;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

export interface Site extends Edit {
  /** Names of the functions, methods and classes around it, outermost first. */
  readonly scope: string;
}

const OTHER_STRING = '"mutated"';

const SCOPES = new Set(["FunctionDeclaration", "MethodDefinition", "ClassDeclaration"]);
const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
const TESTED = new Set(["IfStatement", "ConditionalExpression", "WhileStatement", "DoWhileStatement", "ForStatement"]);
const MODULE_NAMES = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
]);

const LOG_METHODS = new Set(["trace", "debug", "info", "warn", "error", "fatal"]);
const LOG_OBJECT = /^(log|logger)$/i;
/** Of an assertion nothing can be seen while its condition holds, as it should; a mutant must not signal a process. */
const LEFT_ALONE = new Set(["assert", "kill"]);
/** Properties with texts for people: what a metric or a part of the API means. */
const TEXT_PROPERTIES = new Set(["help", "description", "summary", "title"]);

/** All single changes of a file, in the order of its text. */
export function sitesOf(path: string, text: string): Site[] {
  const sites: Site[] = [];
  walk(parse(path, text), (node, ancestors) => {
    if ([node, ...ancestors].some(isLeftAlone)) return;
    const scope = [node, ...ancestors]
      .filter(({ type }) => SCOPES.has(type))
      .map((each) => nameOf(each["id"] ?? each["key"]))
      .reverse()
      .join(".");
    const [parent] = ancestors;
    const edits = [
      operatorEdits(node, text),
      conditionEdits(node, text),
      literalEdits(node, parent),
      bodyEdits(node, parent),
    ];
    for (const edit of edits.flat()) sites.push({ ...edit, scope });
  });
  return sites.sort((a, b) => a.start - b.start || a.end - b.end);
}

function isLeftAlone(node: Node): boolean {
  if (MODULE_NAMES.has(node.type)) return node.type !== "ExportNamedDeclaration" || isNode(node["source"]);
  if (node.type === "Property") return TEXT_PROPERTIES.has(nameOf(node["key"]));
  if (node.type !== "CallExpression") return false;
  const callee = node["callee"];
  if (LEFT_ALONE.has(nameOf(callee))) return true;
  return isNode(callee) && LOG_METHODS.has(nameOf(callee)) && LOG_OBJECT.test(nameOf(callee["object"]));
}

function operatorEdits(node: Node, text: string): Edit[] {
  const { left, right, operator } = node;
  if (!isNode(left) || !isNode(right) || typeof operator !== "string") return [];
  if (operator === "??") return [{ kind: "fallback", start: left.end, end: right.end, replacement: "" }];
  const start = text.indexOf(operator, left.end);
  return Object.entries(OPERATORS).flatMap(([kind, table]) => {
    const replacement = new Map(Object.entries(table)).get(operator);
    if (replacement === undefined || (kind === "arithmetic" && hasText(node))) return [];
    return [{ kind: kind as Kind, start, end: start + operator.length, replacement }];
  });
}

/** A sum of strings: with a minus it would be no number, which no test needs to detect. */
function hasText(node: unknown): boolean {
  if (!isNode(node)) return false;
  if (node.type === "TemplateLiteral" || stringOf(node) !== null) return true;
  return /^\+=?$/.test(String(node["operator"])) && (hasText(node["left"]) || hasText(node["right"]));
}

/** A comparison alone is negated by its operator. */
function conditionEdits(node: Node, text: string): Edit[] {
  const { test } = node;
  if (!TESTED.has(node.type) || !isNode(test) || String(test["operator"]) in OPERATORS.comparison) return [];
  const { start, end } = test;
  return [{ kind: "condition", start, end, replacement: `!(${text.slice(start, end)})` }];
}

function literalEdits(node: Node, parent: Node | undefined): Edit[] {
  const { start, end } = node;
  if (parent?.type === "TaggedTemplateExpression") return [];
  if (node.type === "TemplateLiteral")
    return isProse(node) ? [] : [{ kind: "string", start, end, replacement: OTHER_STRING }];
  if (node.type !== "Literal" || isKey(node, parent)) return [];
  const { value } = node;
  switch (typeof value) {
    case "boolean":
      return [{ kind: "boolean", start, end, replacement: String(!value) }];
    case "number":
      return [value + 1, value - 1].map((each) => ({ kind: "number", start, end, replacement: String(each) }));
    case "bigint":
      return [value + 1n, value - 1n].map((each) => ({ kind: "number", start, end, replacement: `${each}n` }));
    case "string":
      if (isProse(node) || parent?.["directive"] != null) return [];
      return [{ kind: "string", start, end, replacement: value === "mutated" ? '""' : OTHER_STRING }];
    default:
      return [];
  }
}

function isKey(node: Node, parent: Node | undefined): boolean {
  return parent !== undefined && parent["key"] === node && parent["computed"] !== true;
}

/** A whole sentence is for people: what a metric or an answer of the API means. Texts of errors begin with a small letter. */
function isProse(node: Node): boolean {
  const parts = Array.isArray(node["quasis"]) ? (node["quasis"] as Node[]) : [];
  const texts = parts.map((part) => (part["value"] as { cooked?: string } | undefined)?.cooked ?? "");
  return /^[A-Z].* .*\.$/s.test(stringOf(node) ?? texts.join("x"));
}

/** A call whose result is not used may be missing, and a function may end before it begins. */
function bodyEdits(node: Node, parent: Node | undefined): Edit[] {
  const { body, start, end } = node;
  if (node.type === "ExpressionStatement") {
    return isCall(node["expression"]) ? [{ kind: "call", start, end, replacement: ";" }] : [];
  }
  if (!FUNCTIONS.has(node.type) || !isNode(body) || !Array.isArray(body["body"])) return [];
  const [first] = body["body"] as Node[];
  const isEmpty = first === undefined || (first.type === "ReturnStatement" && first["argument"] === null);
  if (isEmpty || parent?.["kind"] === "constructor") return [];
  return [{ kind: "return", start: body.start + 1, end: body.start + 1, replacement: " return;" }];
}

function isCall(expression: unknown): boolean {
  if (!isNode(expression)) return false;
  const { type, callee } = expression;
  if (type === "CallExpression") return !isLeftAlone(expression) && !(isNode(callee) && callee.type === "Super");
  const isWrapper = type === "AwaitExpression" || type === "ChainExpression" || expression["operator"] === "void";
  return isWrapper && isCall(expression["argument"] ?? expression["expression"]);
}
