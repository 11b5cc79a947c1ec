import { expect, test } from "bun:test";
import { sparkOf } from "./spark-path.ts";

const point = (second: number, rate: number) => ({ at: new Date(1000 * second).toISOString(), rate });

test("the last minute alone is drawn, from the left to the right, the highest at the top", () => {
  const spark = sparkOf([point(100, 999), point(200, 0), point(230, 100), point(260, 50)]);
  expect(spark).toEqual({ points: "0.0,19.0 32.0,1.0 64.0,10.0", lowest: 0, highest: 100 });
});

test("one point is no line, and rates of zero are a line at the bottom", () => {
  expect(sparkOf([])).toBeNull();
  expect(sparkOf([point(1, 5)])).toBeNull();
  expect(sparkOf([point(0, 0), point(60, 0)])?.points).toBe("0.0,19.0 64.0,19.0");
});
