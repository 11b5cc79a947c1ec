import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { capacityMpps, lineRateMpps, sizingTable } from "./sizing.ts";

test("line rates are those of Ethernet", () => {
  expect(lineRateMpps(10, 64)).toBeCloseTo(14.88, 2);
  expect(lineRateMpps(100, 1500)).toBeCloseTo(8.22, 2);
});

test("two cores of a machine do not capture, and a packet's costs add up on each of the others", () => {
  expect(capacityMpps(3, { receiving: 50, counting: 50 })).toBeCloseTo(7, 10);
  expect(capacityMpps(10, { receiving: 150, counting: 50 })).toBeCloseTo(28, 10);
});

test("a link is filled, or the share is given", () => {
  const [, , eight] = sizingTable({ receiving: 50, counting: 50 });
  expect(eight).toBe("| 8 | 42 | all | all | all | 28 % | all | all |");
});

test("the page has the table of its costs", () => {
  const page = readFileSync(join(import.meta.dir, "../docs/sizing.md"), "utf8");
  const cost = (name: string) => Number(new RegExp(`^\\| ${name} \\| (\\d+)`, "m").exec(page)?.[1]);
  const [, , ...rows] = sizingTable({ receiving: cost("receiving"), counting: cost("counting") });
  expect(rows.filter((row) => !page.includes(row))).toEqual([]);
});
