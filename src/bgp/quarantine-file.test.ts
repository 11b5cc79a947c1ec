import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { QuarantineFile } from "./quarantine-file.ts";

const ENTRY = { rule: 'ipv4-flowspec [{"type":1,"prefix":"203.0.113.9/32"}]', neighbor: "192.0.2.1", untilMs: 5 };

const directory = emptiedFolder("quarantine");

test("gives back what was saved last, and nothing before that", async () => {
  const file = new QuarantineFile(join(directory, "new"));
  expect(file.load()).toEqual([]);
  void file.save([ENTRY, { ...ENTRY, neighbor: "192.0.2.2" }]);
  await file.save([ENTRY]);
  expect(new QuarantineFile(join(directory, "new")).load()).toEqual([ENTRY]);
});

test.each(["", "{}", "[1]", '[{"rule":"x","neighbor":"192.0.2.1"}]'])("does not take %j for entries", (text) => {
  const file = new QuarantineFile(directory);
  writeFileSync(file.path, text);
  expect(() => file.load()).toThrow();
  expect(readFileSync(file.path, "utf8")).toBe(text);
});
