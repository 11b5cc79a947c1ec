/**
 * A model of a cluster: the rules by which brains agree, over links, clocks and an etcd that fail. HISTORIES from SEED on;
 * `make cluster-model` runs ten thousand.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { seedsOfRun } from "../fixtures/seeds.ts";
import { TreeCopy } from "../mutants/tree-copy.ts";
import { wrongHistories } from "./model/main.ts";
import { MISTAKES } from "./model/mistakes.ts";

const ROOT = join(import.meta.dir, "../..");
const [first = 1] = seedsOfRun(1);
const histories = Number(process.env["HISTORIES"] ?? 60);
/** More than any mistake has needed. */
const HISTORIES_OF_MISTAKE = 4000;

test(`brains agree after ${histories} histories from seed ${first}`, async () => {
  expect(await wrongHistories(first, histories)).toEqual([]);
}, 3_600_000);

describe("a mistake in a rule is noticed", () => {
  let copy: TreeCopy;

  beforeAll(() => {
    copy = new TreeCopy(ROOT, "model");
  });
  afterAll(() => copy.remove());

  test.each(MISTAKES)(
    "$name",
    async ({ path, from, to, violates }) => {
      const text = readFileSync(join(ROOT, path), "utf8");
      expect(text.split(from)).toHaveLength(2);
      copy.write(
        path,
        text.replace(from, () => to),
      );
      try {
        const command = [process.execPath, "test/cluster/model/main.ts", "1", String(HISTORIES_OF_MISTAKE), "1"];
        const child = Bun.spawn(command, { cwd: copy.directory, stdio: ["ignore", "pipe", "pipe"] });
        const [output, complaint] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
        ]);
        expect([await child.exited, complaint]).toEqual([1, ""]);
        expect(violates.some((invariant) => output.includes(`\n  ${invariant}: `))).toBe(true);
      } finally {
        copy.write(path, text);
      }
    },
    600_000,
  );
});
