import { expect, test } from "bun:test";
import { readShown } from "./shown-json.ts";

test("what would turn the direction of writing is shown by its number, all else as it is", () => {
  const texts = { reason: "ok \u202egnp.exe\u2069\u009b", other: "Zürich\n東京 🙂" };
  expect(readShown(JSON.stringify(texts))).toEqual({
    reason: "ok \\u202egnp.exe\\u2069\\u009b",
    other: "Zürich\n東京 🙂",
  });
});
