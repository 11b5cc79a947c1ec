import { expect, test } from "bun:test";
import { parseSaved, SAVED_MAX, saveFault, withSaved } from "./saved-views.ts";

const many = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `v${i}`, query: "by=host" }));

test("what the browser has kept is read, and what is no such list is none", () => {
  const views = [{ name: "acme", query: "by=hostgroup&only=acme" }];
  expect(parseSaved(JSON.stringify(views))).toEqual(views);
  expect(parseSaved(JSON.stringify([...views, { name: 1, query: "" }, null, "x"]))).toEqual(views);
  for (const text of [null, "", "{", "{}", "null"]) expect(parseSaved(text)).toEqual([]);
  for (const count of [SAVED_MAX - 1, SAVED_MAX, SAVED_MAX + 1]) {
    expect(parseSaved(JSON.stringify(many(count))).length).toBe(Math.min(count, SAVED_MAX));
  }
});

test("a name is needed, is not too long, and takes the place of the view that has it", () => {
  expect(saveFault([], " ")).toBe("Give it a name.");
  expect(saveFault([], "x".repeat(40))).toBeNull();
  expect(saveFault([], "x".repeat(41))).toBe("At most 40 characters.");
  expect(saveFault(many(SAVED_MAX - 1), "new")).toBeNull();
  expect(saveFault(many(SAVED_MAX), "new")).toBe(`At most ${SAVED_MAX}: remove one first.`);
  expect(saveFault(many(SAVED_MAX), "v3")).toBeNull();
  expect(withSaved(many(2), { name: " v0 ", query: "by=asn" })).toEqual([
    { name: "v1", query: "by=host" },
    { name: "v0", query: "by=asn" },
  ]);
});
