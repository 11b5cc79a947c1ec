import { describe, expect, test } from "bun:test";
import type { SourceFile } from "../source-tree.ts";
import { apply, draw, type Mutant } from "./draw.ts";

/** A file with as many lines as asked, each with something to change. */
function file(path: string, lines: number): SourceFile {
  const name = path.replace(/\W/g, "_");
  return { path, text: Array.from({ length: lines }, (_, i) => `  if (${name}_${i} < 3) x += ${i};\n`).join("") };
}
const ids = (mutants: readonly Mutant[]) => mutants.map(({ id }) => id);
const files = [file("src/net/a.ts", 40), file("src/edge/b.ts", 20)];
const drawn = draw({ files, seed: 7, count: 30 });

test("draws as many as asked, at most one of a line, each with its place and both forms", () => {
  expect(new Set(drawn.map(({ path, line }) => `${path}:${line}`)).size).toBe(30);
  for (const mutant of drawn) {
    const { text } = files.find(({ path }) => path === mutant.path) as SourceFile;
    expect(text.split("\n")[mutant.line - 1]?.trim()).toBe(mutant.original);
    expect(apply(text, mutant).split("\n")[mutant.line - 1]?.trim()).toBe(mutant.mutated);
    expect(mutant.mutated).not.toBe(mutant.original);
  }
  expect(draw({ files, seed: 7, count: 1000 })).toHaveLength(60);
});

describe("the same seed", () => {
  test("draws the same from the same tree, and another seed others", () => {
    expect(draw({ files, seed: 7, count: 30 })).toEqual(drawn);
    expect(ids(draw({ files, seed: 8, count: 30 })).sort()).not.toEqual(ids(drawn).sort());
  });

  test("draws the same when files have moved, and lines and indentation in them", () => {
    const moved = files.map(({ path, text }) => ({
      path: path.replace("src/", "src/service/"),
      text: `\n// A note.\n${text.replaceAll("  if", "      if")}`,
    }));
    expect(ids(draw({ files: moved.reverse(), seed: 7, count: 30 }))).toEqual(ids(drawn));
  });

  test("draws nearly the same when other code has come, and more of the same when more are requested", () => {
    const more = ids(draw({ files: [...files, file("src/new.ts", 6)], seed: 7, count: 30 }));
    expect(more.filter((id) => ids(drawn).includes(id)).length).toBeGreaterThan(20);
    expect(draw({ files, seed: 7, count: 50 }).slice(0, 30)).toEqual(drawn);
  });
});

test("equal lines have mutants of their own", () => {
  const { text } = file("same.ts", 10);
  const equal = ["src/net/a.ts", "src/net/b.ts"].map((path) => ({ path, text }));
  expect(new Set(ids(draw({ files: equal, seed: 7, count: 100 }))).size).toBe(20);
});

test("draws no change that does not parse", () => {
  // One less than 0 would make of -0 a decrement of a constant.
  const files = [{ path: "src/a.ts", text: "x = -0;" }];
  const all = Array.from({ length: 50 }, (_, seed) => draw({ files, seed, count: 1 })).flat();
  expect(new Set(all.map(({ mutated }) => mutated))).toEqual(new Set(["x = -1;"]));
});
