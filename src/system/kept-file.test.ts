import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { KeptFiles } from "./kept-file.ts";

const directory = emptiedFolder("kept");
let files: KeptFiles;
beforeEach(() => {
  files = new KeptFiles(directory, "sets", 1000);
});

const path = (name: string) => join(directory, "kept/sets", `${name}.kept`);

test("a content is found again under its name and source, by a later process too", async () => {
  await files.keep("a", "/a", Buffer.from("one\ntwo"));
  expect(files.read("a", "/a")?.toString()).toBe("one\ntwo");
  expect(new KeptFiles(directory, "sets", 1000).read("a", "/a")?.toString()).toBe("one\ntwo");
  expect(files.read("a", "/b")).toBeNull();
  expect(files.read("b", "/a")).toBeNull();
});

test("one that is damaged anywhere, cut, too large or a folder is not used", async () => {
  await files.keep("a", "/a", Buffer.from("content"));
  const whole = readFileSync(path("a"));
  for (let at = 0; at < whole.length; at++) {
    const broken = Buffer.from(whole);
    broken[at] = (broken[at] ?? 0) ^ 0x40;
    writeFileSync(path("a"), broken);
    expect([at, files.read("a", "/a")]).toEqual([at, null]);
    writeFileSync(path("a"), whole.subarray(0, at));
    expect([at, files.read("a", "/a")]).toEqual([at, null]);
  }
  writeFileSync(path("a"), Buffer.concat([whole, Buffer.alloc(300_000)]));
  expect(files.read("a", "/a")).toBeNull();
  rmSync(path("a"));
  mkdirSync(path("a"));
  expect(files.read("a", "/a")).toBeNull();
});

test("others than those that are wanted are removed, so that the disk does not fill", async () => {
  for (const name of ["a", "b", "a.kept.new"]) await files.keep(name, "", Buffer.from(name));
  writeFileSync(path("c.kept.new"), "left by a crash");
  await files.retain(["a"]);
  expect(readdirSync(join(directory, "kept/sets"))).toEqual(["a.kept"]);
  expect(files.read("a", "")?.toString()).toBe("a");
});
