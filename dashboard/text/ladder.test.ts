import { expect, test } from "bun:test";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { rungsOf } from "./ladder.ts";

const ban = {
  state: "active",
  started_at: "2026-03-01T12:00:00.000Z",
  escalation: [
    { after_seconds: 0, action: "flowspec" },
    { after_seconds: 60, action: "divert" },
    { after_seconds: 300, action: "blackhole" },
  ],
  escalation_step: 1,
} as BanWire;

test("rungs are past, now and ahead, those ahead with their time", () => {
  expect(rungsOf(ban).map(({ action, state, at }) => [action, state, at])).toEqual([
    ["flowspec", "past", null],
    ["divert", "now", null],
    ["blackhole", "ahead", "2026-03-01T12:05:00.000Z"],
  ]);
});

test("a ban that ended has no rung in force, and climbs no more; one without a ladder has no rungs", () => {
  expect(rungsOf({ ...ban, state: "withdrawn" }).map(({ state, at }) => [state, at])).toEqual([
    ["past", null],
    ["past", null],
    ["ahead", null],
  ]);
  const { escalation: _, ...plain } = ban;
  expect(rungsOf(plain)).toEqual([]);
});
