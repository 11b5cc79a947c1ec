import { expect, test } from "bun:test";
import { isVersion } from "./version-order.ts";

/** Each is newer than all before it. */
const ASCENDING = [
  "0.0.0-0",
  "0.0.0",
  "0.9.10",
  "0.10.0",
  "1.0.0-1",
  "1.0.0-9",
  "1.0.0-10",
  "1.0.0-99999999999999999998",
  "1.0.0-99999999999999999999",
  "1.0.0-Alpha",
  "1.0.0-alpha",
  "1.0.0-alpha.1",
  "1.0.0-alpha.1.0",
  "1.0.0-alpha.beta",
  "1.0.0-beta",
  "1.0.0-beta.2",
  "1.0.0-beta.11",
  "1.0.0-rc.1",
  "1.0.0",
  "1.0.1",
  "1.2.0",
  "2.0.0-x-y-z.--",
  "2.0.0",
  "10.0.0",
];

test("versions are in the order of the specification", () => {
  expect(ASCENDING.filter((text) => !isVersion(text))).toEqual([]);
  for (const [i, a] of ASCENDING.entries()) {
    for (const [j, b] of ASCENDING.entries()) {
      expect(`${a} ${b} ${Bun.semver.order(a, b)}`).toBe(`${a} ${b} ${Math.sign(i - j)}`);
    }
  }
});

test.each([
  ["1.0.0+20130313144700", "v1.0.0+exp.sha.5114f85"],
  ["1.0.0-rc.1+a", "1.0.0-rc.1"],
])("%p and %p are the same: what is built does not count, nor a v in front", (a, b) => {
  expect([isVersion(a), isVersion(b), Bun.semver.order(a, b)]).toEqual([true, true, 0]);
});

test.each([
  "",
  "1",
  "1.2",
  "1.2.3.4",
  "01.2.3",
  "1.02.3",
  "1.2.3-",
  "1.2.3-01",
  "1.2.3-a..b",
  "1.2.3+",
  "1.2.3-ä",
  "-1.2.3",
])("%p is no version", (text) => {
  expect(isVersion(text)).toBe(false);
});

test("a version that is far too long is none", () => {
  expect(isVersion(`1.0.0-${"a".repeat(122)}`)).toBe(true);
  expect(isVersion(`1.0.0-${"a".repeat(123)}`)).toBe(false);
});
