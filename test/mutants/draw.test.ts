import { describe, expect, test } from "bun:test";
import type { SourceFile } from "../source-tree.ts";
import { apply, draw, isProduction, type Mutant } from "./draw.ts";

/** A file with as many lines as asked, each with something to change. */
function file(path: string, lines: number, name = path): SourceFile {
  const text = Array.from({ length: lines }, (_, i) => `  if (${name.replace(/\W/g, "_")}_${i} < 3) x += ${i};\n`).join(
    "",
  );
  return { path, text };
}

function ids(mutants: readonly Mutant[]): string[] {
  return mutants.map(({ id }) => id);
}

const files = [file("src/net/a.ts", 40), file("src/edge/b.ts", 20)];
const drawn = draw({ files, seed: 7, count: 30 });

test("draws as many as asked, at most one of a line, each with its place and both forms", () => {
  expect(drawn).toHaveLength(30);
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

  test("draws the same when files have moved, and lines in them", () => {
    const moved = files.map(({ path, text }) => ({
      path: path.replace("src/", "src/service/"),
      text: `\n// A note.\n${text}`,
    }));
    expect(ids(draw({ files: moved.reverse(), seed: 7, count: 30 }))).toEqual(ids(drawn));
  });

  test("draws the same when indentation has changed", () => {
    const indented = files.map(({ path, text }) => ({ path, text: text.replaceAll("  if", "      if") }));
    expect(ids(draw({ files: indented, seed: 7, count: 30 }))).toEqual(ids(drawn));
  });

  test("draws nearly the same when other code has come", () => {
    const more = ids(draw({ files: [...files, file("src/new.ts", 6)], seed: 7, count: 30 }));
    expect(more.filter((id) => ids(drawn).includes(id)).length).toBeGreaterThan(20);
  });

  test("draws more of what it drew before when more are asked for", () => {
    expect(draw({ files, seed: 7, count: 50 }).slice(0, 30)).toEqual(drawn);
  });
});

test("equal lines are told apart", () => {
  const equal = [file("src/net/a.ts", 10, "same"), file("src/net/b.ts", 10, "same")];
  const all = draw({ files: equal, seed: 7, count: 100 });
  expect(new Set(ids(all)).size).toBe(20);
});

test("draws no change that does not parse", () => {
  // One less than 0 would make of -0 a decrement of a constant.
  const all = Array.from({ length: 50 }, (_, seed) =>
    draw({ files: [{ path: "src/a.ts", text: "x = -0;" }], seed, count: 1 }),
  );
  expect(new Set(all.flat().map(({ mutated }) => mutated))).toEqual(new Set(["x = -1;"]));
});

test.each([
  ["src/net/prefix.ts", true],
  ["src/net/prefix.test.ts", false],
  ["src/dataplane/native.d.ts", false],
  ["test/fixtures/http.ts", false],
  ["dashboard/app.tsx", false],
])("%s is code of the service: %p", (path, expected) => {
  expect(isProduction({ path, text: "" })).toBe(expected);
});
