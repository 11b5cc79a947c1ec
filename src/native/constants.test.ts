import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as constants from "./constants.ts";

const PROGRAM = join(import.meta.dir, "../../build/addon/print_constants");
const FILE = join(import.meta.dir, "constants.ts");

test("the constants are what the addon's headers say now: `make -C addon constants` writes them again", () => {
  const { success, stdout } = Bun.spawnSync([PROGRAM], { stdout: "pipe", stderr: "inherit" });
  expect(success).toBe(true);
  expect(readFileSync(FILE, "utf8")).toBe(stdout.toString());
});

test("no list names a value twice", () => {
  const lists = Object.values(constants).filter((value) => Array.isArray(value));
  expect(lists.length).toBeGreaterThan(0);
  for (const list of lists) expect(new Set<string>(list).size).toBe(list.length);
});
