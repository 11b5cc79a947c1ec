import { expect, test } from "bun:test";
import { ban } from "../../test/fixtures/views.ts";
import { MANUAL_UNBAN } from "../mitigation/ban.ts";
import { canonicalPrefix } from "../net/prefix.ts";
import { automaticBanEvent, signalReloadEvent } from "./automatic-audit.ts";

const active = ban({ manual: false });
const withdrawn = ban({ manual: false, state: "withdrawn", reason: "attack ended" });

test("a ban by detection, its end and its refusal are rows without an operator", () => {
  expect(automaticBanEvent({ ban: active, previous: null }, 5)).toMatchObject({
    wallMs: 5,
    action: "ban",
    result: "active",
    operator: "",
    tenant: "",
    target: active.target,
    source: "auto",
    banState: "active",
  });
  expect(automaticBanEvent({ ban: withdrawn, previous: active }, 5)).toMatchObject({
    action: "unban",
    result: "withdrawn",
    reason: "attack ended",
  });
  const rejected = ban({ manual: false, state: "rejected", reason: "max_active_bans reached" });
  expect(automaticBanEvent({ ban: rejected, previous: null }, 5)).toMatchObject({ action: "ban", result: "rejected" });
});

test("a ban of a prefix is a row of its first address, and says that it is of a prefix", () => {
  const prefix = canonicalPrefix("192.0.2.0/24");
  const wide = { ...active, prefix, target: prefix.address };
  expect(automaticBanEvent({ ban: wide, previous: null }, 5)).toMatchObject({
    ...{ target: "192.0.2.0", targetType: "prefix", reason: "192.0.2.0/24" },
  });
  const ended = { ...withdrawn, prefix, target: prefix.address };
  expect(automaticBanEvent({ ban: ended, previous: wide }, 5)?.reason).toBe("192.0.2.0/24: attack ended");
  expect(automaticBanEvent({ ban: active, previous: null }, 5)).toMatchObject({ targetType: "host" });
  // It was recorded when it began: growth is no row.
  expect(automaticBanEvent({ ban: wide, previous: active }, 5)).toBeNull();
});

test("the end of an operator's ban by time is a row, too", () => {
  const manual = ban({ manual: true });
  const expired = ban({ manual: true, state: "withdrawn", reason: "ttl expired" });
  expect(automaticBanEvent({ ban: expired, previous: manual }, 5)).toMatchObject({ action: "unban", source: "auto" });
});

test("an operator's commands and an extended ban are none", () => {
  const manual = ban({ manual: true });
  expect(automaticBanEvent({ ban: manual, previous: null }, 5)).toBeNull();
  expect(automaticBanEvent({ ban: manual, previous: active }, 5)).toBeNull();
  expect(automaticBanEvent({ ban: active, previous: active }, 5)).toBeNull();
  const unbanned = ban({ manual: false, state: "withdrawn", reason: MANUAL_UNBAN });
  expect(automaticBanEvent({ ban: unbanned, previous: active }, 5)).toBeNull();
});

test("a ban that goes back to a milder rung is a row that says from where to where, one that climbs is none", () => {
  const [milder, harder] = [
    ban({ manual: false, method: "scrub", step: 0 }),
    ban({ manual: false, method: "blackhole", step: 2 }),
  ];
  expect(automaticBanEvent({ ban: milder, previous: harder }, 5)).toMatchObject({
    ...{ action: "ban", result: "active", source: "auto", operator: "", reason: "back from step 2 to 0: scrub" },
  });
  expect(automaticBanEvent({ ban: harder, previous: milder }, 5)).toBeNull();
});

test("a reload by signal says what changed, or what was wrong", () => {
  expect(
    signalReloadEvent(
      { problems: [], changed: ["ban", "thresholds"], changes: ["thresholds: pps: 1 → 2"], dryRun: true },
      5,
    ),
  ).toMatchObject({
    result: "ok",
    reason: "changed: ban, thresholds; thresholds: pps: 1 → 2",
    source: "signal",
  });
  expect(signalReloadEvent({ problems: ["a", "b"], changed: [], changes: [], dryRun: true }, 5)).toMatchObject({
    result: "error",
    reason: "a\nb",
  });
});
