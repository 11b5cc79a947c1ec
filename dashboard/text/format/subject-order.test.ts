import { expect, test } from "bun:test";
import { isWithin, subjectOrder } from "./subject-order.ts";

test("addresses are in the order of their numbers, IPv4 first, names last", () => {
  const ordered = [
    "9.0.0.1",
    "192.0.2.0/24",
    "192.0.2.9",
    "192.0.2.10",
    "203.0.113.1",
    "2001:db8::",
    "2001:db8::9",
    "2001:db8::10",
    "2001:db8:1::1",
    "hostgroup web",
  ];
  const shuffled = [...ordered].sort();
  expect(shuffled).not.toEqual(ordered);
  const key = (subject: string) => subjectOrder(subject);
  expect(shuffled.sort((a, b) => (key(a) < key(b) ? -1 : 1))).toEqual(ordered);
});

test.each([
  ["192.0.2.7", "192.0.2.0/24", true],
  ["192.0.3.7", "192.0.2.0/24", false],
  ["192.0.2.128/25", "192.0.2.0/24", true],
  ["192.0.0.0/16", "192.0.2.0/24", false],
  ["2001:db8:1::7", "2001:db8::/47", true],
  ["2001:db8:2::7", "2001:db8::/47", false],
  ["192.0.2.7", "::/0", false],
  ["192.0.2.7", "0.0.0.0/0", true],
  ["web", "0.0.0.0/0", false],
  ["", "", false],
])("that %p is within %p is %p", (subject, prefix, expected) => {
  expect(isWithin(subject, prefix)).toBe(expected);
});
