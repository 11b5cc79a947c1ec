import { expect, test } from "bun:test";
import { LookupTime } from "./lookup-time.ts";

test("lookups wait as long as the sending took, and not for ever while more is sent", () => {
  const time = new LookupTime();
  expect(time.isDue(0)).toBe(true);
  time.putOff(1400, 1000);
  expect([1400, 1799, 1800].map((nowMs) => time.isDue(nowMs))).toEqual([false, false, true]);
  time.putOff(10_000, 9000);
  time.putOff(11_000, 10_000);
  time.putOff(12_500, 11_000);
  expect([12_999, 13_000].map((nowMs) => time.isDue(nowMs))).toEqual([false, true]);
  time.putOff(13_100, 13_000);
  expect([13_199, 13_200].map((nowMs) => time.isDue(nowMs))).toEqual([false, true]);
});
