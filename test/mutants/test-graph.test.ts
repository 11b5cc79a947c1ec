import { expect, test } from "bun:test";
import { inProcessTests } from "./slow-tests.ts";
import { isTestFile, parsed, TestGraph } from "./test-graph.ts";

function testsOf(path: string, texts: Readonly<Record<string, string>>): string[] {
  const files = Object.entries(texts).map(([path, text]) => parsed({ path, text }));
  return new TestGraph({ files, tests: new Set(Object.keys(texts).filter(isTestFile)) }).testsOf(path);
}

test("a file's own test comes first, then the nearest, of equals that which imports least; types run nothing", () => {
  const texts = {
    "src/a.ts": 'import { b } from "./b.ts";',
    "src/b.ts": 'import { a } from "./a.ts";',
    "src/c.ts": "",
    "src/a.test.ts": 'import "./b.ts"; import "./c.ts";',
    "src/far.test.ts": 'export * from "./b.ts";',
    "src/broad.test.ts": 'await import("./a.ts"); require("./c.ts");',
    "src/near.test.ts": 'import { a } from "./a.ts";',
    "src/other.test.ts": 'import "./c.ts";',
    "src/types.test.ts": 'import type { A } from "./a.ts"; export type { B } from "./b.ts";',
  };
  expect(testsOf("src/a.ts", texts)).toEqual(
    ["src/a", "src/near", "src/broad", "src/far"].map((name) => `${name}.test.ts`),
  );
});

test("a thread's file is reached by its name, a program's is not", () => {
  const texts = {
    "src/thread.ts": "",
    "src/main.ts": "",
    "src/reader.ts": 'new Worker(new URL("./thread.ts", import.meta.url));',
    "src/reader.test.ts": 'import "./reader.ts";',
    "test/api/bans.test.ts": 'const MAIN = join(import.meta.dir, "../../src/main.ts");',
  };
  expect(testsOf("src/thread.ts", texts)).toEqual(["src/reader.test.ts"]);
  expect(testsOf("src/main.ts", texts)).toEqual([]);
});

test("a test is left out when what it uses starts a program, not when that stands beside", () => {
  const texts = {
    "test/fixtures/service.ts":
      'const MAIN = join(import.meta.dir, "../../src/main.ts"); export async function eventually() {}\n' +
      "export class Service { static start() { return Bun.spawn([MAIN]); } }",
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
  };
  const files = Object.entries(texts).map(([path, text]) => parsed({ path, text }));
  expect([...inProcessTests(files)]).toEqual(["a", "c", "e", "g"].map((name) => `src/${name}.test.ts`));
});
