import { expect, test } from "bun:test";
import { afterFirst, entryTitle } from "./timeline.ts";

const DETECTED = { at: "2026-03-01T12:00:00.200Z", kind: "detected" } as const;
const ANNOUNCED = { at: "2026-03-01T12:00:00.214Z", kind: "announced", neighbor: "192.0.2.253" } as const;

test("an entry says what was decided, to whom, and how long after the first one", () => {
  expect([entryTitle(DETECTED), entryTitle(ANNOUNCED)]).toEqual(["Detected", "Announced to 192.0.2.253"]);
  expect([afterFirst(DETECTED, DETECTED), afterFirst(ANNOUNCED, DETECTED)]).toEqual(["+0.000 s", "+0.014 s"]);
});
