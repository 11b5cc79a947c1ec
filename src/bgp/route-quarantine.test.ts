import { expect, test } from "bun:test";
import type { Session } from "./neighbor.ts";
import { AFTERMATH_MS, PEACE_MS, RouteQuarantine } from "./route-quarantine.ts";

const A = "192.0.2.1";
const B = "192.0.2.2";
const NOTHING = { suspected: [], keptBack: [] };

function session(address: string, changedAtMs = 0): Session {
  return { address, remoteAsn: 65002, state: "established", changedAtMs, families: ["ipv4-flowspec"] };
}

/** A session that has been up for long, and a rule sent at 100,000 ms. */
function sent(...keys: readonly string[]): RouteQuarantine {
  const quarantine = new RouteQuarantine();
  quarantine.sessionsAre([session(A), session(B)], 0);
  quarantine.sent(keys, 100_000);
  return quarantine;
}

test("a session that breaks long after a rule was sent accuses nobody", () => {
  expect(sent("rule").sessionsAre([session(B)], 100_001 + AFTERMATH_MS)).toEqual(NOTHING);
});

test("rules are suspected at the first break, and kept back at the one that follows right after the return", () => {
  const quarantine = sent("rule", "other");
  expect(quarantine.sessionsAre([session(B)], 100_000 + AFTERMATH_MS)).toEqual({
    suspected: ["rule", "other"],
    keptBack: [],
  });
  expect(quarantine.keepsBack("rule")).toBe(false);
  expect(quarantine.sessionsAre([session(A, 1), session(B)], 110_000)).toEqual(NOTHING);
  expect(quarantine.sessionsAre([session(B)], 110_000 + AFTERMATH_MS)).toEqual({
    suspected: [],
    keptBack: ["rule", "other"],
  });
  expect(quarantine.keepsBack("rule")).toBe(true);
});

test("a break between two looks is seen by the session's time", () => {
  const quarantine = sent("rule");
  expect(quarantine.sessionsAre([session(A, 1), session(B)], 101_000).suspected).toEqual(["rule"]);
  expect(quarantine.sessionsAre([session(A, 2), session(B)], 102_000).keptBack).toEqual(["rule"]);
});

test("a neighbor that comes back and stays clears the suspicion", () => {
  const quarantine = sent("rule");
  quarantine.sessionsAre([session(B)], 101_000);
  quarantine.sessionsAre([session(A, 1), session(B)], 102_000);
  quarantine.sessionsAre([session(A, 1), session(B)], 102_001 + PEACE_MS);
  expect(quarantine.sessionsAre([session(B)], 200_000)).toEqual(NOTHING);
  quarantine.sessionsAre([session(A, 2), session(B)], 201_000);
  expect(quarantine.sessionsAre([session(B)], 201_500)).toEqual(NOTHING);
});

test("another neighbor's break does not make suspects of one neighbor guilty", () => {
  const quarantine = sent("rule");
  quarantine.sessionsAre([session(B)], 101_000);
  quarantine.sessionsAre([session(A, 1), session(B)], 110_000);
  expect(quarantine.sessionsAre([session(A, 1)], 111_000)).toEqual(NOTHING);
});

test("a neighbor whose sessions are always brief accuses nobody", () => {
  const quarantine = new RouteQuarantine();
  quarantine.sessionsAre([session(A, 1)], 0);
  quarantine.sent(["rule"], 500);
  for (let i = 2; i < 9; i++) expect(quarantine.sessionsAre([session(A, i)], i * 1_000)).toEqual(NOTHING);
});

test("a speaker that goes away is no break", () => {
  const quarantine = sent("rule");
  quarantine.speakerLost();
  expect(quarantine.sessionsAre([], 100_001)).toEqual(NOTHING);
});

test("a rule is kept back for as long as it is wanted", () => {
  const quarantine = sent("rule");
  quarantine.sessionsAre([session(A, 1), session(B)], 101_000);
  quarantine.sessionsAre([session(A, 2), session(B)], 102_000);
  quarantine.keepOnly((key) => key === "rule");
  expect(quarantine.keepsBack("rule")).toBe(true);
  quarantine.keepOnly(() => false);
  expect(quarantine.keepsBack("rule")).toBe(false);
});
