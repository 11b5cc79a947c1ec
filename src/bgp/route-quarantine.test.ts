import { expect, test } from "bun:test";
import {
  KEPT_BACK_MS,
  QUARANTINED_RULES_MAX,
  RESET_CAUSE_MS,
  RouteQuarantine,
  SESSION_STABLE_MS,
} from "./route-quarantine.ts";
import type { Session } from "./speaker/neighbor.ts";

const A = "192.0.2.1";
const B = "192.0.2.2";
const RULE = 'ipv4-flowspec [{"type":1,"prefix":"203.0.113.9/32"}]';
const OTHER = 'ipv4-flowspec [{"type":1,"prefix":"203.0.113.8/32"}]';
const V6_RULE = 'ipv6-flowspec [{"type":1,"prefix":"2001:db8::9/128"}]';

function session(address: string, changedAtMs = 0): Session {
  return {
    address,
    remoteAsn: 65002,
    state: "established",
    changedAtMs,
    families: ["ipv4-flowspec"],
    isDeferring: false,
  };
}

/** Configured, but not established. */
function down(address: string): Session {
  return { address, remoteAsn: 65002, state: "active", changedAtMs: null, families: [], isDeferring: false };
}

function suspected(neighbor: string, ...routes: readonly string[]) {
  return [{ kind: "suspected", neighbor, routes }] as const;
}

function keptBack(neighbor: string, ...routes: readonly string[]) {
  return [{ kind: "kept_back", neighbor, routes }] as const;
}

/** Long established sessions, and rules sent at 100,000 ms. */
function sent(...keys: readonly string[]): RouteQuarantine {
  const quarantine = new RouteQuarantine();
  quarantine.setSessions([session(A), session(B)], 0);
  for (const key of keys) quarantine.sent(key, 100_000);
  return quarantine;
}

/** A has reset its session over these twice, at 102,000 ms the second time. */
function condemned(...keys: readonly string[]): RouteQuarantine {
  const quarantine = sent(...keys);
  quarantine.setSessions([session(A, 1), session(B)], 101_000);
  quarantine.setSessions([session(A, 2), session(B)], 102_000);
  return quarantine;
}

test("a session that breaks long after a rule was sent causes no suspicion", () => {
  expect(sent(RULE).setSessions([down(A), session(B)], 100_001 + RESET_CAUSE_MS)).toEqual([]);
});

test("rules are suspected at the first break, and kept back at the one that follows right after the return", () => {
  const quarantine = sent(RULE, OTHER);
  const first = quarantine.setSessions([down(A), session(B)], 100_000 + RESET_CAUSE_MS);
  expect(first).toEqual(suspected(A, RULE, OTHER));
  expect(quarantine.isKeptBack(RULE)).toBe(false);
  expect(quarantine.setSessions([session(A, 1), session(B)], 110_000)).toEqual([]);
  const second = quarantine.setSessions([down(A), session(B)], 110_000 + RESET_CAUSE_MS);
  expect(second).toEqual(keptBack(A, RULE, OTHER));
  expect(quarantine.isKeptBack(RULE)).toBe(true);
  expect([quarantine.keptBackCount(A), quarantine.keptBackCount(B)]).toEqual([2, 0]);
});

test("a break between two looks is seen by the session's time", () => {
  const quarantine = sent(RULE);
  expect(quarantine.setSessions([session(A, 1), session(B)], 101_000)).toEqual(suspected(A, RULE));
  expect(quarantine.setSessions([session(A, 2), session(B)], 102_000)).toEqual(keptBack(A, RULE));
});

test("a neighbor that comes back and stays clears the suspicion", () => {
  const quarantine = sent(RULE);
  quarantine.setSessions([down(A), session(B)], 101_000);
  quarantine.setSessions([session(A, 1), session(B)], 102_000);
  quarantine.setSessions([session(A, 1), session(B)], 102_001 + SESSION_STABLE_MS);
  expect(quarantine.setSessions([down(A), session(B)], 200_000)).toEqual([]);
  quarantine.setSessions([session(A, 2), session(B)], 201_000);
  expect(quarantine.setSessions([down(A), session(B)], 201_500)).toEqual([]);
});

test("another neighbor's break does not confirm the suspicions of one neighbor", () => {
  const quarantine = sent(RULE);
  quarantine.setSessions([down(A), session(B)], 101_000);
  quarantine.setSessions([session(A, 1), session(B)], 110_000);
  expect(quarantine.setSessions([session(A, 1), down(B)], 111_000)).toEqual([]);
});

test("only rules that were sent to the neighbor are suspected: of a family that it supports, while its session was up", () => {
  const quarantine = new RouteQuarantine();
  quarantine.setSessions([session(A), down(B)], 0);
  for (const key of [RULE, V6_RULE]) quarantine.sent(key, 100_000);
  quarantine.setSessions([session(A), session(B, 1)], 100_100);
  quarantine.sent(OTHER, 104_000);
  expect(quarantine.setSessions([session(A), down(B)], 104_100)).toEqual(suspected(B, OTHER));
  quarantine.sent(V6_RULE, 110_000);
  expect(quarantine.setSessions([down(A), down(B)], 110_100)).toEqual([]);
});

test("a neighbor whose sessions are always brief causes no suspicion", () => {
  const quarantine = new RouteQuarantine();
  quarantine.setSessions([session(A, 1)], 0);
  quarantine.sent(RULE, 500);
  for (let i = 2; i < 9; i++) expect(quarantine.setSessions([session(A, i)], i * 1_000)).toEqual([]);
});

test("a break that the neighbor explains otherwise causes no suspicion and confirms none", () => {
  const explained = sent(RULE);
  explained.ends(A, 100_500);
  expect(explained.setSessions([down(A), session(B)], 101_000)).toEqual([]);
  const suspicious = sent(RULE);
  suspicious.setSessions([session(A, 1), session(B)], 101_000);
  suspicious.ends(A, 101_900);
  expect(suspicious.setSessions([session(A, 2), session(B)], 102_000)).toEqual([]);
  expect(suspicious.isKeptBack(RULE)).toBe(false);
});

test("a failure of the speaker is not a session reset", () => {
  const quarantine = sent(RULE);
  quarantine.speakerLost();
  expect(quarantine.setSessions([down(A), down(B)], 100_001)).toEqual([]);
});

test("a rule is kept back for KEPT_BACK_MS, whether it is wanted or not, and then tried again", () => {
  const quarantine = condemned(RULE);
  quarantine.setSessions([session(A, 2), session(B)], 102_000 + KEPT_BACK_MS - 1);
  expect(quarantine.isKeptBack(RULE)).toBe(true);
  quarantine.setSessions([session(A, 2), session(B)], 102_000 + KEPT_BACK_MS);
  expect(quarantine.isKeptBack(RULE)).toBe(false);
  expect(quarantine.keptBackCount(A)).toBe(0);
});

test("a rule is kept back while the neighbor that resets over it is there, up or not", () => {
  const quarantine = condemned(RULE);
  quarantine.setSessions([down(A), session(B)], 103_000);
  expect(quarantine.isKeptBack(RULE)).toBe(true);
  quarantine.setSessions([session(B)], 104_000);
  expect(quarantine.isKeptBack(RULE)).toBe(false);
  quarantine.setSessions([down(A), session(B)], 105_000);
  expect(quarantine.isKeptBack(RULE)).toBe(true);
});

test("what another process kept back is kept back at once, and while its neighbor is there", () => {
  const quarantine = new RouteQuarantine();
  quarantine.restore(condemned(RULE, OTHER).keptBack());
  expect([quarantine.isKeptBack(RULE), quarantine.isKeptBack(V6_RULE)]).toEqual([true, false]);
  quarantine.setSessions([session(A)], 200_000);
  expect([quarantine.isKeptBack(RULE), quarantine.keptBackCount(A)]).toEqual([true, 2]);
  quarantine.setSessions([session(B)], 200_000);
  expect(quarantine.isKeptBack(RULE)).toBe(false);
  quarantine.setSessions([session(A)], 102_000 + KEPT_BACK_MS);
  expect(quarantine.isKeptBack(RULE)).toBe(false);
});

test.each([
  [QUARANTINED_RULES_MAX - 1, 0],
  [QUARANTINED_RULES_MAX, 0],
  [QUARANTINED_RULES_MAX + 1, 1],
])("of %p rules to keep back the oldest %p are released", (count, releaseOldest) => {
  const keys = Array.from({ length: count }, (_, i) => `ipv4-flowspec [${i}]`);
  const quarantine = sent(...keys);
  quarantine.setSessions([session(A, 1), session(B)], 101_000);
  const events = quarantine.setSessions([session(A, 2), session(B)], 102_000);
  expect(events.slice(1)).toEqual(
    releaseOldest === 0 ? [] : [{ kind: "released", routes: keys.slice(0, releaseOldest) }],
  );
  expect(quarantine.isKeptBack(keys[0] ?? "")).toBe(releaseOldest === 0);
  expect(quarantine.isKeptBack(keys.at(-1) ?? "")).toBe(true);
});

test("what other brains keep back, part by part, has the same bound", () => {
  const quarantine = new RouteQuarantine();
  const part = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ rule: `ipv4-flowspec [${from + i}]`, neighbor: A, untilMs: 200_000 }));
  expect(quarantine.restore(part(0, QUARANTINED_RULES_MAX))).toEqual([]);
  const released = { kind: "released", routes: ["ipv4-flowspec [0]", "ipv4-flowspec [1]"] } as const;
  expect(quarantine.restore(part(QUARANTINED_RULES_MAX, 2))).toEqual([released]);
  expect(quarantine.keptBack()).toHaveLength(QUARANTINED_RULES_MAX);
});
