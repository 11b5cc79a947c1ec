import { describe, expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { attackSubject, banOf, customerText, effectOf, isSpared } from "./mitigation.ts";

const attack = (changes: Partial<AttackWire> = {}) =>
  ({ scope: "host", target: "192.0.2.1", group: "web", dry_run: false, ...changes }) as AttackWire;
const ban = (changes: Partial<BanWire> = {}) =>
  ({
    target: "192.0.2.1",
    prefix: "192.0.2.1/32",
    state: "active",
    method: "blackhole",
    started_at: "2026-03-01T12:00:00.000Z",
    ...changes,
  }) as BanWire;
const announcement = (state: NonNullable<BanWire["announcement"]>, changes: Partial<BanWire> = {}) =>
  ban({
    announced: state === "announced",
    announcement: state,
    ...(state === "failed" || state === "speaker_down" ? { announce_error: "bgp announce failed: x" } : {}),
    ...changes,
  });
const watching = () =>
  ban({
    announced: false,
    escalation: [
      { after_seconds: 0, action: "none" },
      { after_seconds: 60, action: "blackhole" },
    ],
    escalation_step: 0,
  });
const banned = attack({ ban_state: "active", method: "blackhole" });

describe("what is done about an attack", () => {
  test.each([
    ["a hostgroup as a whole", attack({ scope: "group" }), undefined, "info", "Watched only"],
    ["no ban", attack(), undefined, "warn", "No mitigation"],
    ["a refused ban", attack({ ban_state: "rejected" }), ban({ reason: "whitelisted" }), "danger", "Not banned"],
    ["a lifted ban", attack({ ban_state: "withdrawn" }), ban({ reason: "manual unban" }), "warn", "Ban ended"],
    ["dry run", { ...banned, dry_run: true }, ban(), "warn", "Dry run: Blackhole"],
    ["the ban is not in the list yet", banned, undefined, "info", "Blackhole"],
    ["on its way", banned, announcement("pending"), "info", "Blackhole: announcing"],
    ["neighbors have the route", banned, announcement("announced"), "ok", "Blackhole announced"],
    [
      "one of two neighbors has it",
      banned,
      announcement("announced", {
        sent_to: ["192.0.2.2"],
        missing_at: [{ neighbor: "192.0.2.3", cause: "no session" }],
      }),
      "warn",
      "Blackhole at 1 of 2 routers",
    ],
    ["no neighbor has a session", banned, announcement("no_session"), "danger", "Blackhole not announced"],
    ["the speaker does not answer", banned, announcement("speaker_down"), "danger", "Blackhole: not known"],
    ["the speaker refuses it", banned, announcement("failed"), "danger", "Blackhole not announced"],
    ["there is no announcer", banned, ban({ announced: false }), "danger", "Blackhole not announced"],
    [
      "a tenant sees how many, not which",
      banned,
      announcement("announced", { reached: { neighbors: 1, of: 2 } }),
      "warn",
      "Blackhole at 1 of 2 routers",
    ],
    [
      "its scrub node gets nothing",
      banned,
      announcement("announced", { method: "divert", node: "scrub1", node_idle: true }),
      "danger",
      "Blackhole: scrub1 gets 0 of it",
    ],
    ["rules that are not there yet", banned, ban({ method: "flowspec" }), "info", "Blackhole: waiting for rules"],
    ["a rung only watches", banned, watching(), "info", "Watch only"],
    [
      "only this machine drops",
      banned,
      ban({ announced: false, dropped_packets: 5, dropped_bytes: 500 }),
      "ok",
      "Blackhole",
    ],
  ] as const)("%s", (_, seen, itsBan, tone, title) => {
    expect(effectOf(seen, itsBan)).toMatchObject({ tone, title });
  });

  test("names what was dropped, and why a ban was refused", () => {
    const dropping = ban({ announced: true, dropped_packets: 1_200_000, dropped_bytes: 840e6 });
    expect(effectOf(banned, dropping).detail).toBe("1.20 M packets (840 MB) dropped here");
    expect(effectOf(attack({ ban_state: "rejected" }), ban({ reason: "whitelisted" })).detail).toBe(
      "whitelisted: it is in protected_whitelist",
    );
  });
});

test("names the neighbors that have the route, and why others have not", () => {
  expect(effectOf(banned, announcement("announced", { sent_to: ["192.0.2.2", "192.0.2.3"] })).detail).toBe(
    "192.0.2.2 and 192.0.2.3 have the route.",
  );
  const partly = { sent_to: ["192.0.2.2"], missing_at: [{ neighbor: "192.0.2.3", cause: "no session" }] };
  expect(effectOf(banned, announcement("announced", partly)).detail).toBe(
    "192.0.2.2 has the route. Not 192.0.2.3: no session.",
  );
  expect(effectOf(banned, announcement("no_session")).detail).toContain("No BGP session");
  expect(effectOf(banned, announcement("failed")).detail).toBe("bgp announce failed: x");
});

test("a customer is named once", () => {
  expect(customerText({ tenant: "initech", group: "initech" })).toBe("initech");
  expect(customerText({ tenant: "initech", group: "web" })).toBe("initech, web");
  expect(customerText({ group: "web" })).toBe("web");
});

test("of a scrubbed attack it says whom it challenged, and who was real", () => {
  const scrubbed = ban({ method: "scrub", dropped_packets: 9, dropped_bytes: 90, challenged_packets: 359_000 });
  expect(effectOf(banned, scrubbed).detail).toBe(
    "9 packets (90 B) dropped here; challenged 359 k packets: 0 sources proved real",
  );
});

test("its numbers are those of the attack, where they are known, and not the older counters of its ban", () => {
  const volume = { packets: 100_000, dropped_packets: 84_900, dropped_bits: 8 * 5.09e6, challenged_packets: 61_700 };
  const seen = { ...banned, volume } as unknown as typeof banned;
  const scrubbed = ban({ method: "scrub", dropped_packets: 9, dropped_bytes: 90, challenged_packets: 9 });
  expect(effectOf(seen, scrubbed).detail).toBe(
    "84.9 k packets (5.09 MB) dropped here; challenged 61.7 k packets: 0 sources proved real",
  );
  expect(effectOf(seen, announcement("announced", { dropped_packets: 9 })).detail).toBe(
    "84.9 k packets (5.09 MB) dropped here",
  );
});

test("a victim that would be refused by hand as well has no ban button", () => {
  expect(isSpared(ban({ state: "rejected", reason: "whitelisted" }))).toBe(true);
  expect(isSpared(ban({ state: "rejected", reason: "own infrastructure: a router" }))).toBe(true);
  expect(isSpared(ban({ state: "rejected", reason: "cooldown after unban" }))).toBe(false);
  expect(isSpared(ban())).toBe(false);
  expect(isSpared(undefined)).toBe(false);
});

test("the ban of an attack is the one in force on its address, else its last", () => {
  const old = ban({ state: "withdrawn", started_at: "2026-03-01T11:00:00.000Z" });
  const older = ban({ state: "withdrawn", started_at: "2026-03-01T10:00:00.000Z" });
  const other = ban({ target: "192.0.2.2" });
  expect(banOf(attack(), [old, ban(), other])).toEqual(ban());
  expect(banOf(attack(), [old, older, other])).toEqual(old);
  expect(banOf(attack(), [other])).toBeUndefined();
  const { target: _, ...spread } = attack({ scope: "group", prefix: "192.0.2.0/24" });
  expect(banOf(spread, [ban(), ban({ prefix: "192.0.2.0/24" })])?.prefix).toBe("192.0.2.0/24");
  expect([attackSubject(attack()), attackSubject(spread)]).toEqual(["192.0.2.1", "192.0.2.0/24"]);
});
