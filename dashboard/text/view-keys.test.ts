import { expect, test } from "bun:test";
import { keyStep, letterOf, SECOND_KEY_MS } from "./view-keys.ts";

test("g and a letter go to a view", () => {
  const first = keyStep(null, { key: "g", atMs: 1000 });
  expect(first).toEqual({ pressedMs: 1000, view: null });
  expect(keyStep(first.pressedMs, { key: "m", atMs: 1000 + SECOND_KEY_MS })).toEqual({
    pressedMs: null,
    view: "mitigation",
  });
  expect(keyStep(first.pressedMs, { key: "o", atMs: 1001 }).view).toBe("");
});

test("a letter alone, one that comes late and one of no view do nothing", () => {
  expect(keyStep(null, { key: "m", atMs: 1 })).toEqual({ pressedMs: null, view: null });
  expect(keyStep(1000, { key: "m", atMs: 1001 + SECOND_KEY_MS })).toEqual({ pressedMs: null, view: null });
  expect(keyStep(1000, { key: "q", atMs: 1001 })).toEqual({ pressedMs: null, view: null });
});

test("no letter is of two views", () => {
  const views = [
    "",
    "attacks",
    "incidents",
    "mitigation",
    "hosts",
    "explorer",
    "scrub",
    "edge",
    "telemetry",
    "audit",
    "settings",
    "wall",
  ];
  const letters = views.map(letterOf);
  expect(new Set(letters).size).toBe(views.length);
  expect(letters).not.toContain(undefined);
});
