/**
 * The benches of the packet path compile folders of the library again and link them before it. The linker then takes none
 * of such a folder out of the library only if each of its files is among them: else symbols are there twice.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { ROOT } from "../test/source-tree.ts";

const parts = new Map<string, string[]>();
const plan = Bun.spawnSync(["make", "-n", "-B", "-C", "bench/native_xdp"], { cwd: ROOT }).stdout.toString();
for (const [, folder = "", file = ""] of plan.matchAll(/-c \S*\/core\/(\w+)\/(\w+\.cpp)/g)) {
  parts.set(folder, [...(parts.get(folder) ?? []), file]);
}

test("folders of the library are compiled again", () => {
  // Stages are timed on x86 alone.
  const expected = process.arch === "x64" ? ["capture", "inline"] : ["inline"];
  expect([...parts.keys()].toSorted()).toEqual(expected);
});

test.each([...parts])("of %s all files that the library has as one part", (folder, files) => {
  const part = readFileSync(`${ROOT}/build/addon/parts/core/${folder}.cpp`, "utf8");
  const included = [...part.matchAll(/\/(\w+\.cpp)"/g)].map(([, file = ""]) => file);
  expect(files.toSorted()).toEqual(included.toSorted());
});
