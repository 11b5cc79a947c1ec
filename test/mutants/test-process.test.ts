import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TestProcesses, verdictOf } from "./test-process.ts";
import { TreeCopy } from "./tree-copy.ts";

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "tree-"));
  for (const folder of ["src", "node_modules", ".git", "build/addon"])
    mkdirSync(join(root, folder), { recursive: true });
  const head = 'import { expect, test } from "bun:test"; import { a } from "./a.ts";';
  writeFileSync(join(root, "src/a.ts"), "export const a: number = 1;");
  writeFileSync(join(root, "src/a.test.ts"), `${head} test("a", () => expect(a).toBe(1));`);
  writeFileSync(join(root, "src/waits.test.ts"), `${head} test("w", () => new Promise(() => {}), 50);`);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("a copy", () => {
  test("holds what is written, links what is installed and built, and leaves the tree as it is", () => {
    const copy = new TreeCopy(root, "1");
    copy.write("src/a.ts", "export const a = 2;");
    expect(readFileSync(join(root, "src/a.ts"), "utf8")).toBe("export const a: number = 1;");
    for (const path of ["node_modules", "build/addon"]) {
      expect(lstatSync(join(copy.directory, path)).isSymbolicLink()).toBeTrue();
    }
    for (const path of [".git", "build/mutants"]) expect(existsSync(join(copy.directory, path))).toBeFalse();
    copy.remove();
    expect(existsSync(copy.directory)).toBeFalse();
    expect(existsSync(join(root, "build/addon"))).toBeTrue();
  });

  test("of a process that has ended is removed; one of a process that runs stays, and the result", () => {
    const copy = new TreeCopy(root, "2");
    const folder = join(root, "build/mutants");
    // Above the largest number that the kernel gives to a process.
    mkdirSync(join(folder, "4194305-1/src"), { recursive: true });
    writeFileSync(join(folder, "result.json"), "{}");
    TreeCopy.removeAbandoned(root);
    expect(readdirSync(folder).sort()).toEqual([`${process.pid}-2`, "result.json"].sort());
    copy.remove();
  });
});

test("a test passes, fails by the change in its copy, or waits in vain", async () => {
  const copy = new TreeCopy(root, "3");
  const processes = new TestProcesses();
  const run = (name: string) => processes.run({ directory: copy.directory, test: name, usualCpuSeconds: 1 });
  try {
    const passed = await run("src/a.test.ts");
    expect([passed.verdict, passed.output.includes("1 pass")]).toEqual(["passed", true]);
    expect(passed.cpuSeconds).toBeGreaterThan(0);
    copy.write("src/a.ts", "export const a = 2;");
    expect((await run("src/a.test.ts")).verdict).toBe("failed");
    expect((await run("src/waits.test.ts")).verdict).toBe("timed out");
  } finally {
    processes.stop();
    copy.remove();
  }
  expect(run("src/a.test.ts")).rejects.toThrow("stopped");
});

test.each([
  [0, "", "passed"],
  [1, "(fail) a\n  ^ this test timed out after 20000ms.", "timed out"],
  [1, "(fail) a", "failed"],
  [137, "", "timed out"],
  [139, "", "failed"],
] as const)("exit code %d with %p: %s", (code, output, verdict) => {
  expect(verdictOf(code, output)).toBe(verdict);
});
