import { expect, test } from "bun:test";
import { readShown, readShownInSteps } from "./shown-json.ts";

test("what would turn the direction of writing is shown by its number, all else as it is", () => {
  const texts = { reason: "ok \u202egnp.exe\u2069\u009b", other: "Zürich\n東京 🙂" };
  expect(readShown(JSON.stringify(texts))).toEqual({
    reason: "ok \\u202egnp.exe\\u2069\\u009b",
    other: "Zürich\n東京 🙂",
  });
});

test("a long list is read in steps, and is what it is at once", () => {
  const item = (i: number) => ({
    ...{ name: `a "${i}", ]} \\`, back: "\\\\", list: [i, [{ x: "," }], {}], text: "\u202e", big: "y".repeat(900) },
  });
  for (const count of [0, 1, 3, 200, 500]) {
    const json = JSON.stringify({ bans: Array.from({ length: count }, (_, i) => item(i)), next: { after: "z" } });
    const steps = readShownInSteps(json);
    let [turns, last] = [0, steps.next()];
    for (; last.done !== true; last = steps.next()) turns++;
    expect(last.value).toEqual(readShown(json));
    expect(turns).toBe(Math.max(0, Math.ceil(json.length / 66_600) - 1));
  }
  const cut = JSON.stringify({ bans: Array.from({ length: 200 }, (_, i) => item(i)) }).slice(0, -2000);
  expect(() => [...readShownInSteps(cut)]).toThrow(SyntaxError);
});
