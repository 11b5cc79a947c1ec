import { beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { inTurn, StoredFile } from "./stored-file.ts";
import { nextTurn } from "./timers.ts";

const directory = emptiedFolder("stored");
let file: StoredFile;

beforeEach(() => {
  file = new StoredFile(join(directory, "state/text"));
});

const text = () => readFileSync(file.path, "utf8");

test("has the newest text when any of its writes resolves after it was given, for its owner alone", async () => {
  const first = file.replace("1");
  for (let i = 2; i < 100; i++) void file.replace(String(i));
  await first;
  expect(text()).toBe("99");
  void file.replace("100");
  await file.settled();
  expect(text()).toBe("100");
  expect([statSync(file.path).mode & 0o777, existsSync(`${file.path}.new`)]).toEqual([0o600, false]);
});

test("keeps its old text when a write fails, and takes the next one", async () => {
  await file.replace("old");
  mkdirSync(`${file.path}.new`);
  expect(file.replace("new")).rejects.toThrow();
  await file.settled();
  expect(text()).toBe("old");
  rmSync(`${file.path}.new`, { recursive: true });
  writeFileSync(`${file.path}.new`, "left over", { mode: 0o666 });
  await file.replace("new");
  expect([text(), statSync(file.path).mode & 0o777]).toEqual(["new", 0o600]);
});

test("writes of this process follow one another, also after one that fails", async () => {
  const { promise: hangs, reject: fails } = Promise.withResolvers<void>();
  const failed = inTurn(() => hangs);
  let hasBegun = false;
  const next = inTurn(async () => {
    hasBegun = true;
  });
  await nextTurn();
  expect(hasBegun).toBe(false);
  fails(new Error("disk full"));
  expect(failed).rejects.toThrow("disk full");
  await next;
  expect(hasBegun).toBe(true);
});
