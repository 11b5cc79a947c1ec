import { expect, test } from "bun:test";
import { nearest, shifted, zoomed } from "./zoom.ts";

const whole = { from: 0, to: 100 };

test("closer keeps what is pointed at in the middle, within the whole", () => {
  const zoom = (at: number | null, shown = whole) => zoomed({ shown, whole, at, factor: 0.5 });
  expect(zoom(null)).toEqual({ from: 25, to: 75 });
  expect(zoom(40)).toEqual({ from: 15, to: 65 });
  expect(zoom(10)).toEqual({ from: 0, to: 50 });
  expect(zoom(99)).toEqual({ from: 50, to: 100 });
  // What is pointed at may be outside of what is shown.
  expect(zoom(90, { from: 0, to: 40 })).toEqual({ from: 10, to: 30 });
});

test("wider ends at the whole, and closer at half a second", () => {
  expect(zoomed({ shown: { from: 25, to: 75 }, whole, at: null, factor: 2 })).toBeNull();
  expect(zoomed({ shown: { from: 40, to: 50 }, whole, at: null, factor: 2 })).toEqual({ from: 35, to: 55 });
  expect(zoomed({ shown: whole, whole, at: null, factor: Number.POSITIVE_INFINITY })).toBeNull();
  expect(zoomed({ shown: { from: 50, to: 50.6 }, whole, at: null, factor: 0.5 })).toEqual({ from: 50.05, to: 50.55 });
});

test("earlier and later stay within the whole", () => {
  const shown = { from: 40, to: 60 };
  expect(shifted(shown, -0.5, whole)).toEqual({ from: 30, to: 50 });
  expect(shifted(shown, 0.5, whole)).toEqual({ from: 50, to: 70 });
  expect(shifted({ from: 5, to: 25 }, -0.5, whole)).toEqual({ from: 0, to: 20 });
  expect(shifted({ from: 75, to: 95 }, 0.5, whole)).toEqual({ from: 80, to: 100 });
});

test("the nearest time", () => {
  expect([0, 4, 6, 99].map((at) => nearest([1, 5, 8], at))).toEqual([0, 1, 1, 2]);
  expect(nearest([], 1)).toBe(-1);
});
