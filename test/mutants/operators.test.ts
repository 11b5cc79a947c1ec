import { expect, test } from "bun:test";
import { apply } from "./draw.ts";
import { sitesOf } from "./operators.ts";

/** Each change as its kind and the whole text after it. */
function changes(text: string): string[] {
  return sitesOf("src/net/x.ts", text).map((site) => `${site.kind}: ${apply(text, site)}`);
}

test.each<[string, string[]]>([
  ["a < b;", ["boundary: a <= b;", "comparison: a >= b;"]],
  ["a >= b;", ["boundary: a > b;", "comparison: a < b;"]],
  ["a !== b;", ["comparison: a === b;"]],
  ["a && (b || c);", ["logical: a || (b || c);", "logical: a && (b && c);"]],
  ["a ?? b;", ["fallback: a;"]],
  ["a + b - c;", ["arithmetic: a - b - c;", "arithmetic: a + b + c;"]],
  ["a += b;", ["arithmetic: a -= b;"]],
  ["a + 7;", ["arithmetic: a - 7;", "number: a + 6;", "number: a + 8;"]],
  ["f(0x10n);", ["call: ;", "number: f(15n);", "number: f(17n);"]],
  ["x = true;", ["boolean: x = false;"]],
  ["x = 'a';", ['string: x = "mutated";']],
  [`x = \`a\${b}\`;`, ['string: x = "mutated";']],
  ['x = "mutated";', ['string: x = "";']],
  ["if (a) b;", ["condition: if (!(a)) b;"]],
  ["if (a === b) c;", ["comparison: if (a !== b) c;"]],
  ["x = a ? b : c;", ["condition: x = !(a) ? b : c;"]],
  ["if (a) await f?.();", ["call: if (a) ;", "condition: if (!(a)) await f?.();"]],
  ["function f() { x; }", ["return: function f() { return; x; }"]],
  ["const f = () => { x; };", ["return: const f = () => { return; x; };"]],
  ["class A { get b() { return c; } }", ["return: class A { get b() { return; return c; } }"]],
])("%s", (text, expected) => {
  expect(changes(text).sort()).toEqual(expected.sort());
});

test.each([
  ["a text for people in the log", 'this.#options.log.warn({ a: 1 }, "b" + c);'],
  ["an assertion", 'assert(a === b, "c");'],
  ["the signalling of a process", "process.kill(pid, 0);"],
  ["what a metric means", 'x = { help: "packets" + a };'],
  ["a sentence", 'x = "Packets lost by capture.";'],
  ["a sentence with parts", `x = \`Packets lost by \${a}.\`;`],
  ["the template of a tag", "x = sql`a`;"],
  ["the names of modules", 'import a from "b"; export { c } from "d"; export * from "e"; x = await import("f");'],
  ["a type", 'type A = "b" | 1; x = y as "c"; let z: { d: true } | 2;'],
  ["a directive", '"use strict";'],
  ["a key", 'x = { "a-b": c };'],
  ["a constructor", "class A extends B { constructor() { super(); } }"],
  ["a function without statements", "function f() {} const g = () => {};"],
])("leaves alone %s", (_, text) => {
  expect(changes(text)).toEqual([]);
});

test("finds code beside what is left alone", () => {
  expect(changes("export const a = 1;")).toEqual(["number: export const a = 2;", "number: export const a = 0;"]);
  expect(changes("log.reset();")).toEqual(["call: ;"]);
  expect(changes("x = { help: a }; b < c;")).toHaveLength(2);
  expect(changes('x = { [a + "b"]: c };')).toEqual(['string: x = { [a + "mutated"]: c };']);
});

test("a sum of strings keeps its plus", () => {
  expect(changes('x = a + "b";')).toEqual(['string: x = a + "mutated";']);
});

test("takes the operator, not one in the operands", () => {
  expect(changes('(a["<"]) < b;')).toContain('comparison: (a["<"]) >= b;');
});

test("names the functions and classes around a change", () => {
  const text = "class Table { find() { return a < b; } }\nfunction size() { return () => c < d; }";
  const scopes = sitesOf("src/net/x.ts", text).map(({ scope, kind }) => `${scope} ${kind}`);
  expect(scopes).toContain("Table.find comparison");
  expect(scopes).toContain("size comparison");
});
