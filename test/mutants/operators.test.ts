import { expect, test } from "bun:test";
import { apply } from "./draw.ts";
import { sitesOf } from "./operators.ts";

/** Each change as its kind and the whole text after it. */
function changes(text: string): string[] {
  return sitesOf("src/net/x.ts", text).map((site) => `${site.kind}: ${apply(text, site)}`);
}

test.each<[string, string[]]>([
  ["a < b;", ["boundary: a <= b;", "comparison: a >= b;"]],
  ['(a["<"]) < b;', ['boundary: (a["<"]) <= b;', 'comparison: (a["<"]) >= b;', 'string: (a["mutated"]) < b;']],
  ["a && (b || c);", ["logical: a || (b || c);", "logical: a && (b && c);"]],
  ["a ?? b;", ["fallback: a;"]],
  ["a += b;", ["arithmetic: a -= b;"]],
  ["a + 7;", ["arithmetic: a - 7;", "number: a + 6;", "number: a + 8;"]],
  ["f(0x10n);", ["call: ;", "number: f(15n);", "number: f(17n);"]],
  ["log.reset();", ["call: ;"]],
  ["x = true;", ["boolean: x = false;"]],
  [`x = \`a\${b}\`;`, ['string: x = "mutated";']],
  ['x = a + "mutated";', ['string: x = a + "";']],
  ['x = { [a + "b"]: c };', ['string: x = { [a + "mutated"]: c };']],
  ["if (a === b) c;", ["comparison: if (a !== b) c;"]],
  ["x = a ? b : c;", ["condition: x = !(a) ? b : c;"]],
  ["if (a) await f?.();", ["call: if (a) ;", "condition: if (!(a)) await f?.();"]],
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

test("names the functions and classes around a change", () => {
  const text = "class Table { find() { return a < b; } }\nfunction size() { return () => c < d; }";
  const scopes = new Set(sitesOf("src/net/x.ts", text).map(({ scope }) => scope));
  expect([...scopes]).toEqual(["Table.find", "size"]);
});
