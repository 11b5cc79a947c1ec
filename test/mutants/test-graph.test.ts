import { expect, test } from "bun:test";
import { inProcessTests } from "./slow-tests.ts";
import { modulesOf, parsed, TestGraph } from "./test-graph.ts";

function tree(texts: Readonly<Record<string, string>>) {
  return Object.entries(texts).map(([path, text]) => parsed({ path, text }));
}

function testsOf(path: string, texts: Readonly<Record<string, string>>, withPrograms = false): string[] {
  const files = tree(texts);
  const tests = new Set(files.map(({ path }) => path).filter((path) => path.endsWith(".test.ts")));
  return new TestGraph({ files, tests, withPrograms }).testsOf(path);
}

test("a file's own test comes first, then the nearest, of equals that which imports least", () => {
  const texts = {
    "src/a.ts": "",
    "src/b.ts": 'import "./a.ts";',
    "src/c.ts": "",
    "src/a.test.ts": 'import "./b.ts"; import "./c.ts";',
    "src/far.test.ts": 'import "./b.ts";',
    "src/broad.test.ts": 'import "./a.ts"; import "./c.ts";',
    "src/near.test.ts": 'import "./a.ts";',
    "src/other.test.ts": 'import "./c.ts";',
  };
  expect(testsOf("src/a.ts", texts)).toEqual([
    "src/a.test.ts",
    "src/near.test.ts",
    "src/broad.test.ts",
    "src/far.test.ts",
  ]);
});

test("an import for types alone runs nothing, and a circle of imports ends", () => {
  const texts = {
    "src/a.ts": 'import { b } from "./b.ts";',
    "src/b.ts": 'import { a } from "./a.ts";',
    "src/types.test.ts": 'import type { A } from "./a.ts"; export type { B } from "./b.ts";',
    "src/values.test.ts": 'export { b } from "./b.ts";',
  };
  expect(testsOf("src/a.ts", texts)).toEqual(["src/values.test.ts"]);
});

test("a thread's file is reached by its name, a program's only when that is asked for", () => {
  const texts = {
    "src/thread.ts": "",
    "src/main.ts": 'import "./serve.ts";',
    "src/serve.ts": "",
    "src/reader.ts": 'new Worker(new URL("./thread.ts", import.meta.url));',
    "src/reader.test.ts": 'import "./reader.ts";',
    "test/fixtures/service.ts": 'const MAIN = join(import.meta.dir, "../../src/main.ts");',
    "test/api/bans.test.ts": 'import "../fixtures/service.ts";',
  };
  expect(testsOf("src/thread.ts", texts)).toEqual(["src/reader.test.ts"]);
  expect(testsOf("src/serve.ts", texts)).toEqual([]);
  expect(testsOf("src/serve.ts", texts, true)).toEqual(["test/api/bans.test.ts"]);
});

test("modules are found in imports of every form", () => {
  const text =
    'import a from "./a.ts"; export * from "../b.ts"; await import("./c.ts"); require("./d.ts"); import e from "e";';
  const modules = modulesOf(parsed({ path: "src/net/x.ts", text }), { withNames: false });
  expect([...modules].sort()).toEqual(["src/b.ts", "src/net/a.ts", "src/net/c.ts", "src/net/d.ts"]);
});

test("a test is left out when what it uses starts a program, not when that stands beside", () => {
  const files = tree({
    "test/fixtures/service.ts": [
      'const MAIN = join(import.meta.dir, "../../src/main.ts");',
      "export class Service { static start() { return Bun.spawn([MAIN]); } }",
      "export async function eventually() {}",
    ].join("\n"),
    "test/fixtures/veth.ts": 'export const { ok } = run("ip", "netns", "add");',
    "test/fixtures/both.ts": 'export { ok as isThere } from "./veth.ts"; export const none = 1;',
    "src/bgp/daemon.ts": 'export const COMMAND = "gobgpd";',
    "src/a.test.ts": 'import { eventually } from "../test/fixtures/service.ts"; test("a", () => eventually());',
    "src/b.test.ts": 'import { Service } from "../test/fixtures/service.ts"; test("b", () => Service.start());',
    "src/c.test.ts": 'import type { Service } from "../test/fixtures/service.ts"; test("c", () => {});',
    "src/d.test.ts": 'import { isThere } from "../test/fixtures/both.ts"; test.skipIf(!isThere)("d", () => {});',
    "src/e.test.ts": 'import { none } from "../test/fixtures/both.ts"; test("e", () => none);',
    "src/g.test.ts": 'import { COMMAND } from "./bgp/daemon.ts"; test("g", () => COMMAND);',
    "test/scenario/h.test.ts": 'test("h", () => {});',
  });
  expect([...inProcessTests(files)]).toEqual(["src/a.test.ts", "src/c.test.ts", "src/e.test.ts", "src/g.test.ts"]);
});
