/** The fields of orders: their state must outlive the button that opened their dialog. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { parseAst } from "vite";

const DASHBOARD = join(import.meta.dir, "..");

test("no order of a CommandButton has a field: its state would be that of the button's component", () => {
  const sources = [...new Glob("**/*.tsx").scanSync(DASHBOARD)]
    .map((path) => ({ path, text: readFileSync(join(DASHBOARD, path), "utf8") }))
    .filter(({ text }) => text.includes("<CommandButton"));
  expect(sources.length).toBeGreaterThan(5);
  const wrong = sources.filter(({ text }) => {
    const program: unknown = parseAst(text, { lang: "tsx" });
    return elementsIn(program, "CommandButton").some((button) => attributesIn(button).some(isOfField));
  });
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

const isOfField = (attribute: string) => ["onInput", "onChange"].includes(attribute);

function elementsIn(value: unknown, name: string): Node[] {
  return nodesIn(value).filter(
    ({ type, openingElement }) => type === "JSXElement" && nameOf((openingElement as Node)["name"]) === name,
  );
}

function attributesIn(value: unknown): string[] {
  return nodesIn(value).flatMap(({ type, name }) => (type === "JSXAttribute" ? [nameOf(name)] : []));
}

function nodesIn(value: unknown): Node[] {
  if (Array.isArray(value)) return value.flatMap(nodesIn);
  if (typeof value !== "object" || value === null || !("type" in value)) return [];
  return [value as Node, ...Object.values(value).flatMap(nodesIn)];
}

function nameOf(value: unknown): string {
  const { name } = value as { readonly name?: unknown };
  return typeof name === "string" ? name : "";
}
