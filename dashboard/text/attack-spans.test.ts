import { expect, test } from "bun:test";
import { attackSpans } from "./attack-spans.ts";

const at = (second: number) => new Date(second * 1000).toISOString();
const range = { from: 100, to: 200 };

test("bands are within the range, and one that lasts goes on to its end", () => {
  expect(attackSpans([{ started_at: at(50), ended_at: at(120) }, { started_at: at(180) }], range)).toEqual([
    { from: 100, to: 120 },
    { from: 180, to: 200 },
  ]);
});

test("attacks at the same time are one band, and those outside are none", () => {
  const lasted = [
    { started_at: at(130), ended_at: at(150) },
    { started_at: at(110), ended_at: at(140) },
    { started_at: at(112), ended_at: at(115) },
    { started_at: at(10), ended_at: at(100) },
    { started_at: at(200) },
  ];
  expect(attackSpans(lasted, range)).toEqual([{ from: 110, to: 150 }]);
});
