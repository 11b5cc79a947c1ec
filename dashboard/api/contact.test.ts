import { beforeEach, expect, test } from "bun:test";
import { answered, contact, heed, SILENCE_MS, silentSinceMs, unanswered } from "./contact.ts";
import { PERIOD_MS } from "./heartbeat.ts";

const LONG_MS = 60_000;

beforeEach(() => answered());

test("a service is silent when nothing has come for a while, long before a request fails", () => {
  heed(Date.now() + SILENCE_MS - 100, LONG_MS);
  expect(silentSinceMs.value).toBeNull();
  heed(Date.now() + SILENCE_MS + 100, LONG_MS);
  expect(silentSinceMs.value).not.toBeNull();
  expect(contact.value.kind).toBe("in_touch");
  answered();
  expect(silentSinceMs.value).toBeNull();
});

test("silence is noticed within two seconds", () => {
  expect(SILENCE_MS + PERIOD_MS).toBeLessThan(1800);
});

test("a page that was paused does not take its own silence for the service's", () => {
  heed(Date.now() + LONG_MS, SILENCE_MS - 100);
  expect(silentSinceMs.value).toBeNull();
});

test("a failed request says it at once", () => {
  unanswered();
  expect([contact.value.kind, silentSinceMs.value === null]).toEqual(["lost", false]);
});
