import { describe, expect, test } from "bun:test";
import { prefix } from "../../../test/fixtures/networks.ts";
import { aheadMs, heldBans, heldBansOf } from "./held-document.ts";
import type { WantedBan } from "./rule-document.ts";

const WALL = Date.parse("2026-03-01T12:00:00Z");
const HOUR = 3_600_000;

const ban = (expiresAtMs: number): WantedBan => ({
  prefix: prefix("10.0.0.1/32"),
  isVirtual: false,
  expiresAtMs,
  rules: [],
  filter: null,
});
const left = (bans: readonly { expiresAtMs: number }[], monotonicMs = 0) => (bans[0]?.expiresAtMs ?? 0) - monotonicMs;

describe("the service's clock", () => {
  test.each([
    ["says nothing", null, 0],
    ["agrees", WALL, 0],
    ["is slightly ahead", WALL + 1000, 0],
    ["is slightly behind", WALL - 2000, 0],
    ["is ahead", WALL + HOUR, HOUR + 500],
    ["is behind", WALL - HOUR, -HOUR + 500],
  ])("%s", (_, sentAtMs, expected) => {
    expect(aheadMs(sentAtMs, WALL)).toBe(expected);
  });
});

test("a ban holds for what it has left by the service's clock", () => {
  const clocks = { wallMs: WALL, monotonicMs: 77, aheadMs: 0 };
  expect(left(heldBans([ban(WALL + 60_000)], clocks), 77)).toBe(60_000);
  const ahead = { ...clocks, aheadMs: HOUR };
  expect(left(heldBans([ban(WALL + HOUR + 60_000)], ahead), 77)).toBe(60_000);
});

describe("from the disk", () => {
  const saved = { atMs: WALL, aheadMs: 0 };
  const bans = [ban(WALL + 60_000)];

  test("the time in between is over", () => {
    expect(left(heldBansOf(bans, saved, { wallMs: WALL + 20_000, monotonicMs: 0 }))).toBe(40_000);
    expect(left(heldBansOf(bans, saved, { wallMs: WALL + HOUR, monotonicMs: 0 }))).toBeLessThan(0);
  });

  test("a clock that was set back gives no ban more than it had", () => {
    expect(left(heldBansOf(bans, saved, { wallMs: WALL - HOUR, monotonicMs: 0 }))).toBe(60_000);
  });

  test("a clock that is wrong as before is put right as before", () => {
    const wrong = { atMs: WALL - HOUR, aheadMs: HOUR };
    expect(left(heldBansOf(bans, wrong, { wallMs: WALL - HOUR + 20_000, monotonicMs: 0 }))).toBe(40_000);
  });
});
