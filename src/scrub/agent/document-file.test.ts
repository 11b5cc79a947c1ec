import { beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../../test/fixtures/folders.ts";
import { DocumentFile, type SavedDocument } from "./document-file.ts";

const directory = emptiedFolder("document");
let faults: unknown[];
let file: DocumentFile;

beforeEach(() => {
  faults = [];
  file = new DocumentFile(join(directory, "state"), 0, (cause) => faults.push(cause));
});

const document = (etag: string | null): SavedDocument => ({
  text: `{"version":1,"bans":[],"x":${JSON.stringify(etag)}}`,
  etag,
  savedAtMs: 1,
  aheadMs: -2,
  owner: "scrub1 at http://127.0.0.1",
});

test("what is saved is loaded, by its owner alone", async () => {
  file.save(document('"a"'));
  await file.written();
  expect(await file.load()).toEqual(document('"a"'));
  expect(statSync(file.path).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(directory, "state"))).toEqual(["scrub-rules.json"]);
});

test("of many that come quickly the last one stays", async () => {
  for (let i = 0; i < 200; i++) file.save(document(`"${i}"`));
  await file.written();
  expect((await file.load())?.etag).toBe('"199"');
});

test("no file is none", async () => {
  expect(await file.load()).toBeNull();
});

test("a failed save is reported, and the next one is tried", async () => {
  writeFileSync(join(directory, "state"), "in the way");
  file.save(document(null));
  await file.written();
  expect(faults).toHaveLength(1);
  rmSync(join(directory, "state"));
  file.save(document(null));
  await file.written();
  expect([faults.length, await file.load()]).toEqual([1, document(null)]);
});

describe("a file that cannot be used is refused:", () => {
  test.each([
    ["half a file", '{"format":1,"text":'],
    ["null", "null"],
    ["another format", '{"format":2}'],
    ["a part is missing", '{"format":1,"text":"","etag":null,"savedAtMs":1,"owner":"x"}'],
    ["a part is of another kind", '{"format":1,"text":"","etag":7,"savedAtMs":1,"aheadMs":0,"owner":"x"}'],
    ["a folder", null],
  ])("%s", async (_, text) => {
    mkdirSync(join(directory, "state"));
    if (text === null) mkdirSync(file.path);
    else writeFileSync(file.path, text);
    expect(file.load()).rejects.toThrow();
  });
});
