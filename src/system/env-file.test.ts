import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { systemClock } from "./clock.ts";
import { ENV_FILE_BYTES_MAX, EnvFile } from "./env-file.ts";

const directory = emptiedFolder("env");
let path: string;
let environment: Record<string, string | undefined>;
let problems: string[];
let changes: string[];
let file: EnvFile;

beforeEach(() => {
  path = join(directory, "secrets.env");
  environment = { HOME: "/home" };
  problems = [];
  changes = [];
  file = new EnvFile({
    clock: systemClock,
    environment,
    onProblem: (_, problem) => problems.push(problem),
    onChange: (_, { set, unset }) => changes.push(`set ${set.join(" ")} unset ${unset.join(" ")}`),
  });
});
afterEach(() => {
  // Callers that cache variables check only this number.
  expect(file.changes).toBe(changes.length);
});

test("sets its variables at once and leaves the others alone", () => {
  writeFileSync(path, "A=1\nB=2\n");
  file.follow(path);
  expect(environment).toEqual({ HOME: "/home", A: "1", B: "2" });
  expect(changes).toEqual(["set A B unset "]);
  expect(problems).toEqual([]);
});

describe("at the next look it has taken in", () => {
  beforeEach(() => {
    writeFileSync(path, "A=1\nB=2\n");
    file.follow(path);
  });

  test("an edit in place, of the same length and in the same moment", () => {
    for (let i = 0; i < 50; i++) {
      writeFileSync(path, `A=${i % 10}\nB=2\n`);
      file.refresh();
      expect(environment["A"]).toBe(`${i % 10}`);
    }
  });

  test("another file that was renamed to its name, older than the first", () => {
    const next = `${path}.new`;
    writeFileSync(next, "A=3\nB=2\n");
    utimesSync(next, 1, 1);
    renameSync(next, path);
    file.refresh();
    expect(environment["A"]).toBe("3");
  });

  test("a link that was turned to another folder, as orchestrators do", () => {
    for (const [version, secret] of [
      ["v1", "x"],
      ["v2", "y"],
    ] as const) {
      mkdirSync(join(directory, version));
      writeFileSync(join(directory, version, "secrets.env"), `A=${secret}\n`);
    }
    symlinkSync("v1", join(directory, "data"));
    file.follow(join(directory, "data/secrets.env"));
    expect(environment["A"]).toBe("x");
    symlinkSync("v2", join(directory, "data.new"));
    renameSync(join(directory, "data.new"), join(directory, "data"));
    file.refresh();
    expect(environment["A"]).toBe("y");
  });

  test("a line that is gone: its variable is unset", () => {
    writeFileSync(path, "A=1\n");
    file.refresh();
    expect(environment).toEqual({ HOME: "/home", A: "1" });
    expect(changes.at(-1)).toBe("set  unset B");
  });

  test("what was written in the tick of the kernel's clock in which it was read: it reads again for a while", () => {
    let lateMs = 0;
    const clock = { wallMs: () => systemClock.wallMs() + lateMs };
    const other = new EnvFile({ clock, environment, onProblem: () => {}, onChange: () => {} });
    writeFileSync(path, "A=1\n");
    other.follow(path);
    // Represents a change that the file's times do not show: only reading restores the file's value.
    environment["A"] = "x";
    other.refresh();
    expect(environment["A"]).toBe("1");
    lateMs = 1000;
    other.refresh();
    environment["A"] = "x";
    other.refresh();
    expect(environment["A"]).toBe("x");
  });

  test("nothing, when the same is written again", () => {
    writeFileSync(path, "B=2\nA=1\n");
    file.refresh();
    expect(changes).toHaveLength(1);
  });
});

describe("an unusable file changes nothing and is reported:", () => {
  beforeEach(() => {
    writeFileSync(path, "A=1\nB=2\n");
    file.follow(path);
  });

  test.each([
    ["a fault in a line", () => writeFileSync(path, "A=9\nsecret\n"), "line 2: not of the form NAME=value"],
    ["bytes that are no text", () => writeFileSync(path, Buffer.from([0x41, 0x3d, 0xff])), "is not UTF-8"],
    [
      "too large",
      () => writeFileSync(path, "A=9\n".padEnd(ENV_FILE_BYTES_MAX + 1, "#")),
      `is larger than ${ENV_FILE_BYTES_MAX} bytes`,
    ],
    ["gone", () => unlinkSync(path), "cannot be read: ENOENT: no such file or directory"],
    ["a folder", () => swap(() => mkdirSync(path)), "is not a file"],
    ["a pipe", () => swap(() => Bun.spawnSync(["mkfifo", path])), "is not a file"],
  ])("%s", (_, spoil, problem) => {
    spoil();
    file.refresh();
    expect(environment).toEqual({ HOME: "/home", A: "1", B: "2" });
    expect(problems).toEqual([expect.stringContaining(problem)]);
    file.refresh();
    expect(problems).toHaveLength(2);
    rmSync(path, { recursive: true, force: true });
    writeFileSync(path, "A=7\n");
    file.refresh();
    expect(environment).toEqual({ HOME: "/home", A: "7" });
    expect(problems).toHaveLength(2);
  });

  test("of the largest size is fine", () => {
    writeFileSync(path, "A=9\n".padEnd(ENV_FILE_BYTES_MAX, "#").replace("A=9\n#", "A=9\n#"));
    file.refresh();
    expect(environment["A"]).toBe("9");
    expect(problems).toEqual([]);
  });

  function swap(make: () => unknown): void {
    unlinkSync(path);
    make();
  }
});

describe("following another file", () => {
  test("unsets what only the first one had", () => {
    writeFileSync(path, "A=1\nB=2\n");
    file.follow(path);
    const other = join(directory, "other.env");
    writeFileSync(other, "B=3\nC=4\n");
    file.follow(other);
    expect(environment).toEqual({ HOME: "/home", B: "3", C: "4" });
  });

  test("or none unsets all of it, and looks at nothing any more", () => {
    writeFileSync(path, "A=1\n");
    file.follow(path);
    file.follow(null);
    writeFileSync(path, "A=2\n");
    file.refresh();
    expect(environment).toEqual({ HOME: "/home" });
  });
});
