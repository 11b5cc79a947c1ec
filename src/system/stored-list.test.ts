import { afterAll, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Undo } from "../../test/fixtures/undo.ts";
import { StoredList } from "./stored-list.ts";

const undo = new Undo();
afterAll(() => undo.all());
const folder = undo.folder("stored-list");
const isNumber = (value: unknown): value is number => typeof value === "number";

function load(path: string): [rows: readonly number[], damage: string] {
  let damage = "";
  const rows = new StoredList(path, "numbers", isNumber).load((error) => {
    damage = error;
  });
  return [rows, damage];
}

test("another process has what was saved, and a file that is not there is an empty list", async () => {
  const path = join(folder, "numbers.json");
  expect(load(path)).toEqual([[], ""]);
  await new StoredList(path, "numbers", isNumber).save([1, 2]);
  expect(load(path)).toEqual([[1, 2], ""]);
});

test.each([
  ["not JSON", "{"],
  ["of another version", '{"version":2,"numbers":[1]}'],
  ["with a row of another form", '{"version":1,"numbers":[1,"2"]}'],
])("a file that is %s is moved aside", (name, content) => {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, content);
  const [rows, damage] = load(path);
  expect([rows, damage.startsWith(`${path}: `)]).toEqual([[], true]);
  expect([existsSync(path), existsSync(`${path}.damaged`)]).toEqual([false, true]);
});
