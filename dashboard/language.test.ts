/** The catalogues against the sources: every text of the page is in every language, with its values. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { parseAst } from "vite";
import type { Catalogue } from "./language.ts";

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

const SOURCES = [...new Glob("**/*.{ts,tsx}").scanSync(import.meta.dir)].filter(
  (path) => !/\.test\.ts$|\.d\.ts$|^build\.ts$/.test(path),
);
const nodes = SOURCES.flatMap((path) => {
  const text = readFileSync(join(import.meta.dir, path), "utf8");
  const found: { readonly path: string; readonly node: Node; readonly parent: Node }[] = [];
  const walk = (value: unknown, parent: Node): void => {
    if (Array.isArray(value)) for (const part of value) walk(part, parent);
    if (!isNode(value)) return;
    found.push({ path, node: value, parent });
    for (const part of Object.values(value)) walk(part, value);
  };
  const program: unknown = parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" });
  walk(program, { type: "" });
  return found;
});
const KEYS = new Set(nodes.flatMap(({ node }) => keysOf(node)));
const LANGUAGES: readonly (readonly [string, number])[] = [
  ["de", 2],
  ["fr", 2],
  ["es", 2],
  ["ru", 3],
];

test.each(LANGUAGES)("every text of the page is in %s, with its values and forms", (code, forms) => {
  const catalogue = JSON.parse(readFileSync(join(import.meta.dir, `languages/${code}.json`), "utf8")) as Catalogue;
  expect(KEYS.size).toBeGreaterThan(1000);
  expect([...KEYS].filter((key) => !Object.hasOwn(catalogue, key))).toEqual([]);
  expect(Object.keys(catalogue).filter((key) => !KEYS.has(key))).toEqual([]);
  const wrong = Object.entries(catalogue).filter(([key, text]) => {
    const isCounted = key.includes("|");
    const hasForms = text.split("|").length === (isCounted ? forms : 1);
    return text === "" || !hasForms || places(key).join() !== places(text).join();
  });
  expect(wrong).toEqual([]);
});

/** Buttons with a name of their own beside what they show: WCAG 2.5.3. */
const NAMED = nodes.flatMap(({ node }) => {
  if (node.type !== "JSXElement") return [];
  const { openingElement, children } = node as unknown as { openingElement: Node; children: readonly Node[] };
  const attributes = openingElement["attributes"] as readonly Node[];
  const given = (name: string) => attributes.find((attribute) => nameOf(attribute["name"]) === name)?.["value"];
  const labels = textsIn(given("label"));
  return labels.length === 0 ? [] : [...textsIn(given("text")), ...textsIn(children)].map((text) => ({ labels, text }));
});

test.each(LANGUAGES)("what a button shows is in its name, in %s", (code) => {
  const catalogue = JSON.parse(readFileSync(join(import.meta.dir, `languages/${code}.json`), "utf8")) as Catalogue;
  expect(NAMED.length).toBeGreaterThan(20);
  const shown = (key: string) =>
    (catalogue[key] ?? key)
      .toLowerCase()
      .replace(/ …$|\{0\}/g, "")
      .trim();
  // "Ban an address" has a name with a place for "an address".
  const isIn = (text: string) => (label: string) =>
    shown(label).includes(shown(text)) || (label.includes("{0}") && shown(text).includes(shown(label)));
  expect(NAMED.filter(({ labels, text }) => !labels.some(isIn(text)))).toEqual([]);
});

/** What is not translated: the name of the product, and names of keys. */
const NAMES = new Set(["Floodwall", "BGP"]);
const SPOKEN_ATTRIBUTES = new Set(
  "title label text verb hint placeholder what fault faultOf aria-label column rest".split(" "),
);
/** Values that look like words: an example of a value, and lists of keys. */
const EXAMPLES = new Set(["sources", "fromPorts", "toPorts", "www.example.net", "203.0.113.7", `{"ttl": "1-5"}`]);

test("no component has a text outside the catalogues", () => {
  const outside = nodes.flatMap(({ path, node, parent }) => {
    const { value } = node;
    if (typeof value !== "string" || !/\p{L}{2}/u.test(value)) return [];
    const isText = node.type === "JSXText" && !isCode(parent);
    const isAttribute = node.type === "Literal" && parent.type === "JSXAttribute" && isSpoken(parent);
    const text = value.trim();
    return (isText || isAttribute) && !NAMES.has(text) && !EXAMPLES.has(text) ? [`${path}: ${text}`] : [];
  });
  expect(outside).toEqual([]);
});

/** The texts that a value may have; those of elements within it are not among them. */
function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (!isNode(value)) return [];
  const { type, expression, consequent, alternate } = value;
  if (type === "JSXExpressionContainer") return textsIn(expression);
  return type === "ConditionalExpression" ? [...textsIn(consequent), ...textsIn(alternate)] : keysOf(value);
}

function keysOf(node: Node): string[] {
  if (node.type === "TaggedTemplateExpression" && ["t", "tx"].includes(nameOf(node["tag"]))) {
    const { quasis } = node["quasi"] as { readonly quasis: readonly { readonly value: { readonly cooked: string } }[] };
    return [quasis.map(({ value }) => value.cooked).reduce((key, text, index) => `${key}{${index - 1}}${text}`)];
  }
  if (node.type !== "CallExpression") return [];
  const [, one, many] = (node["arguments"] as readonly Node[]).map(({ value }) => value);
  const callee = nameOf(node["callee"]);
  if (callee === "counted") return [`${String(one)}|${typeof many === "string" ? many : `${String(one)}s`}`];
  return callee === "formFor" && typeof one === "string" ? [one] : [];
}

function places(text: string): string[] {
  return (text.match(/\{\d+\}/g) ?? []).toSorted();
}

function isCode({ openingElement }: Node): boolean {
  return isNode(openingElement) && nameOf(openingElement["name"]) === "code";
}

function isSpoken({ name }: Node): boolean {
  return SPOKEN_ATTRIBUTES.has(nameOf(name));
}

function nameOf(node: unknown): string {
  return isNode(node) && typeof node["name"] === "string" ? node["name"] : "";
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
