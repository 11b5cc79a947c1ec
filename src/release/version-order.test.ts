import { expect, test } from "bun:test";
import { compareVersions, parseVersion, type Version } from "./version-order.ts";

function version(text: string): Version {
  const parsed = parseVersion(text);
  if (parsed === null) throw new Error(`no version: ${text}`);
  return parsed;
}

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
  for (const [i, a] of ASCENDING.entries()) {
    for (const [j, b] of ASCENDING.entries()) {
      expect(`${a} ${b} ${Math.sign(compareVersions(version(a), version(b)))}`).toBe(`${a} ${b} ${Math.sign(i - j)}`);
    }
  }
});

test("what is built does not count, nor a v in front", () => {
  expect(compareVersions(version("1.0.0+20130313144700"), version("v1.0.0+exp.sha.5114f85"))).toBe(0);
  expect(compareVersions(version("1.0.0-rc.1+a"), version("1.0.0-rc.1"))).toBe(0);
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
  expect(parseVersion(text)).toBeNull();
});

test("a version that is far too long is none", () => {
  expect(parseVersion(`1.0.0-${"a".repeat(122)}`)).not.toBeNull();
  expect(parseVersion(`1.0.0-${"a".repeat(123)}`)).toBeNull();
});
