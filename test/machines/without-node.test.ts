/** All that is built and checked runs under Bun: a package that needs Node.js, or a newer one than Debian's, is seen here. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Programs, withoutNode } from "../fixtures/programs.ts";
import { ROOT } from "../source-tree.ts";

const bun = process.execPath;
let machine: Programs;

beforeAll(() => {
  machine = withoutNode();
});
afterAll(() => machine.remove());

test("the dashboard is built without Node.js, whose start fails on this machine", async () => {
  const started = await machine.run(["sh", "-c", "exec /usr/bin/env node --version"]);
  expect(started).toEqual({ exitCode: 1, output: expect.stringContaining("Node.js was started") });
  const folder = join(machine.folder, "dashboard");
  const built = await machine.run([bun, "dashboard/build.ts", "--directory", folder], ROOT);
  expect(built).toEqual({ exitCode: 0, output: "" });
  expect(existsSync(join(folder, "files.json"))).toBe(true);
}, 60_000);

/** Each tool of an npm package that the Makefile runs, with what makes it start all of its parts. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  biome: ["check", "setup"],
  oxlint: ["--type-aware", "--deny-warnings", "setup"],
  tsc: ["--version"],
};

test.each(Object.entries(TOOLS))("%s runs without Node.js", async (tool, args) => {
  const { exitCode, output } = await machine.run([bun, "run", "--bun", tool, ...args], ROOT);
  expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
});

test("these are all tools of packages that the Makefile runs, and Bun is what runs them", () => {
  const makefile = readFileSync(join(ROOT, "Makefile"), "utf8");
  expect(makefile).toContain("TOOL := $(BUN) run --bun\n");
  const named = [...makefile.matchAll(/\$\(TOOL\) (\S+)/g)].map(([, name]) => name as string);
  expect([...new Set(named)].toSorted()).toEqual(Object.keys(TOOLS));
  expect(makefile.match(/node_modules\/\.bin\/(?!bun\b)\S+/g)).toBeNull();
});
