import { expect, test } from "bun:test";
import { isLoopback } from "./loopback.ts";

test.each([
  ["127.0.0.1", true],
  ["127.1.2.3", true],
  ["localhost", true],
  ["[::1]", true],
  ["203.0.113.7", false],
  ["127.0.0.1.example.net", false],
  ["localhost.example.net", false],
])("%s is this machine: %p", (hostname, expected) => {
  expect(isLoopback(hostname)).toBe(expected);
});
