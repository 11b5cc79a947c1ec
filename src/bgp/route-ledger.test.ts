import { expect, test } from "bun:test";
import { blackhole, flow, INSTANCE, loopback, neighbor, neighborPolicy } from "../../test/fixtures/bgp/bgp.ts";
import { ANY_RULES } from "../mitigation/rules/flowspec-support.ts";
import { NeighborPolicies } from "./neighbor-policies.ts";
import { RouteLedger, type SpeakerState } from "./route-ledger.ts";
import { attributesOf, sendable } from "./route-path.ts";
import type { Session } from "./speaker/neighbor.ts";

const UP: SpeakerState = { kind: "up" };
const A = "203.0.113.1/32";
const B = "203.0.113.2/32";

function session(changes: Partial<Session> = {}): Session {
  return {
    address: loopback(2),
    remoteAsn: 65002,
    state: "established",
    changedAtMs: 1_000,
    families: ["ipv4-unicast", "ipv6-unicast"],
    isDeferring: false,
    ...changes,
  };
}

/** A is wanted and announced, by one neighbor. */
function announced(): RouteLedger {
  const ledger = new RouteLedger();
  ledger.want([blackhole(A)], 10);
  ledger.setSessions([session()]);
  ledger.added([sendable(blackhole(A))]);
  ledger.setAdjOut({ neighbor: loopback(2), looked: [A], found: new Set([A]) });
  ledger.finishLookup([A]);
  return ledger;
}

test("a route's state follows it from wanted to announced", () => {
  const ledger = new RouteLedger();
  expect(ledger.state(A, UP)).toEqual({ kind: "pending" });
  ledger.want([blackhole(A)], 0);
  expect(ledger.state(A, { kind: "starting" })).toEqual({ kind: "pending" });
  expect(ledger.state(A, { kind: "down", cause: "gone" })).toEqual({ kind: "speaker_down", cause: "gone" });
  expect(ledger.state(A, UP)).toEqual({ kind: "no_session" });
  ledger.setSessions([session({ state: "active" })]);
  expect(ledger.state(A, UP)).toEqual({ kind: "no_session" });
  ledger.setSessions([session()]);
  expect(ledger.state(A, UP)).toEqual({ kind: "pending" });
  ledger.added([sendable(blackhole(A))]);
  expect(ledger.state(A, UP)).toEqual({ kind: "pending" });
  expect(ledger.unchecked()).toEqual([A]);
  ledger.setAdjOut({ neighbor: loopback(2), looked: [A], found: new Set([A]) });
  expect(ledger.finishLookup([A])).toEqual([0]);
  expect(ledger.state(A, UP)).toEqual({ kind: "announced" });
  expect(ledger.advertised(loopback(2))).toBe(1);
});

test("a route that is looked up and not out says what keeps it back", () => {
  const ledger = new RouteLedger();
  ledger.want([blackhole(A)], 0);
  ledger.setSessions([session()]);
  ledger.added([sendable(blackhole(A))]);
  ledger.setAdjOut({ neighbor: loopback(2), looked: [A], found: new Set() });
  expect(ledger.finishLookup([A])).toEqual([]);
  expect(JSON.stringify(ledger.state(A, UP))).toContain("export policy");
  ledger.setSessions([session({ families: ["ipv6-unicast"] })]);
  ledger.finishLookup([A]);
  expect(ledger.state(A, UP)).toEqual({ kind: "failed", cause: "no established neighbor takes IPv4 unicast routes" });
});

test("is out as long as one neighbor has it", () => {
  const ledger = announced();
  ledger.setSessions([session(), session({ address: loopback(3) })]);
  ledger.setAdjOut({ neighbor: loopback(3), looked: [A], found: new Set([A]) });
  ledger.finishLookup([A]);
  ledger.setSessions([session({ address: loopback(3) })]);
  expect(ledger.state(A, UP)).toEqual({ kind: "announced" });
  expect(ledger.advertised(loopback(2))).toBe(0);
  ledger.setSessions([]);
  expect(ledger.state(A, UP)).toEqual({ kind: "no_session" });
});

test("a session that broke and came back is looked at again", () => {
  const ledger = announced();
  expect(ledger.setSessions([session()])).toBe(false);
  expect(ledger.unchecked()).toEqual([]);
  expect(ledger.setSessions([session({ changedAtMs: 2_000 })])).toBe(true);
  expect(ledger.unchecked()).toEqual([A]);
});

test("what the speaker has decides what is missing and what is surplus", () => {
  const ledger = new RouteLedger();
  ledger.want([blackhole(A)], 0);
  ledger.setInstalled([
    { instance: INSTANCE, key: A, attributes: attributesOf(blackhole(A, { localPref: 9 })), marks: [] },
    { instance: INSTANCE, key: B, attributes: attributesOf(blackhole(B)), marks: [] },
  ]);
  expect([...ledger.missing()].map(({ route }) => route.prefix.text)).toEqual([A]);
  expect(ledger.surplus()).toEqual([B]);
  ledger.added([...ledger.missing()]);
  ledger.withdrawn([B]);
  expect([...ledger.missing()]).toEqual([]);
  expect(ledger.surplus()).toEqual([]);
  ledger.setInstalled([]);
  expect([...ledger.missing()].map(({ route }) => route.prefix.text)).toEqual([A]);
});

test("a route that cannot be sent is not missing, and an older one of its prefix is surplus", () => {
  const ledger = announced();
  ledger.want([blackhole(A, { localPref: -1 })], 0);
  expect([...ledger.missing()]).toEqual([]);
  expect(ledger.surplus()).toEqual([A]);
  expect(ledger.state(A, { kind: "down", cause: "gone" })).toEqual({ kind: "failed", cause: "invalid local_pref -1" });
});

test("a route beyond the limit of the only neighbor says so", () => {
  const ledger = new RouteLedger();
  ledger.want([blackhole(A), blackhole(B)], 0);
  ledger.setSessions([session()]);
  ledger.setLimits([{ neighbor: loopback(2), family: "ipv4-unicast", routes: 1 }]);
  ledger.apportion();
  ledger.added([...ledger.missing()]);
  ledger.setAdjOut({ neighbor: loopback(2), looked: [A, B], found: new Set([A]) });
  ledger.finishLookup([A, B]);
  expect(ledger.state(A, UP)).toEqual({ kind: "announced" });
  expect(ledger.state(B, UP)).toEqual({ kind: "failed", cause: "no neighbor takes more IPv4 unicast routes" });
  expect([A, B].map((key) => ledger.isWithheldFrom(loopback(2), key))).toEqual([false, true]);
});

test("a limit and room count only what the neighbor is to get", () => {
  const ledger = new RouteLedger();
  const flowspec = { ...ANY_RULES, communities: null, rules: 1 };
  const own = neighbor({ name: "n2", policy: neighborPolicy({ flowspec }) });
  const neighbors = [own, neighbor({ address: loopback(3), name: "other" })];
  ledger.setPolicies(new NeighborPolicies({ speaker: "managed", localAsn: 1, neighbors, communitiesAt: [] }));
  const foreign = { neighbors: ["other"] };
  const rules = [{ ...flow(A), ...foreign }, flow(B), flow("2001:db8::1/128")] as const;
  ledger.want([blackhole(A, foreign), blackhole(B), ...rules], 0);
  ledger.setSessions([session()]);
  ledger.setLimits([{ neighbor: loopback(2), family: "ipv4-unicast", routes: 1 }]);
  ledger.apportion();
  const keys = [A, B, ...rules.map((rule) => ledger.keyOf(rule))];
  expect(keys.map((key) => ledger.isWithheldFrom(loopback(2), key))).toEqual([false, false, false, false, true]);
  expect(ledger.withheldCause(loopback(2), keys[4] ?? "")).toBe("its policy has room for 1 rules");
  ledger.added([...ledger.missing()]);
  expect([...ledger.installedFor(loopback(2))]).toEqual([
    ["ipv4-unicast", 1],
    ["ipv4-flowspec", 1],
  ]);
});

test("of two routes of one key the last counts", () => {
  const ledger = new RouteLedger();
  ledger.want([blackhole(A), blackhole(A, { localPref: 9 })], 0);
  expect([...ledger.missing()].map(({ route }) => route.localPref)).toEqual([9]);
});

test("measures a route once from the time it was first wanted", () => {
  const ledger = new RouteLedger();
  ledger.want([blackhole(A)], 10);
  ledger.want([blackhole(A), blackhole(B)], 20);
  ledger.setSessions([session()]);
  ledger.added([blackhole(A), blackhole(B)].map((route) => sendable(route)));
  ledger.setAdjOut({ neighbor: loopback(2), looked: [A, B], found: new Set([A, B]) });
  expect(ledger.finishLookup([A, B])).toEqual([10, 20]);
  expect(ledger.finishLookup([A, B])).toEqual([]);
  ledger.want([], 30);
  ledger.withdrawn([A, B]);
  ledger.want([blackhole(A)], 40);
  ledger.added([sendable(blackhole(A))]);
  ledger.setAdjOut({ neighbor: loopback(2), looked: [A], found: new Set([A]) });
  expect(ledger.finishLookup([A])).toEqual([40]);
});
