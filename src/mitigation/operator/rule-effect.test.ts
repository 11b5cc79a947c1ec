import { expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { operatorRule } from "../../../test/fixtures/mitigation/operator-rules.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import type { MinuteHeader } from "../../detection/attack/minute-sample.ts";
import { exactly } from "../../net/range.ts";
import { ANY_MATCH } from "../rules/match.ts";
import type { OperatorRule } from "./operator-rule.ts";
import { type EffectTerms, ruleEffect } from "./rule-effect.ts";

const VICTIM = address("192.0.2.1");
const OTHER = address("192.0.2.200");

function header(destination: string, fields: Partial<MinuteHeader> & { source?: string; protocol?: number } = {}) {
  const { source = "198.51.100.1", protocol = 17, ...rest } = fields;
  const ports = { source: 19, destination: 5000 };
  return {
    header: {
      ...{ source: address(source), destination: address(destination), protocol, ports },
      ...{ tcpFlags: null, fragment: null, packetBytes: 111 },
    },
    ...{ wireBytes: 125, packets: 1, isAttacked: false, verdict: null, ...rest },
  } satisfies MinuteHeader;
}

/** In 10 s, 900 packets of an attack on the victim, and 100 of users to another host, a tenth of them over UDP. */
const MINUTE = [
  ...Array.from({ length: 9 }, () => header(VICTIM, { packets: 100, isAttacked: true, verdict: "drop_rule" })),
  ...Array.from({ length: 9 }, () => header(OTHER, { packets: 10, protocol: 6, source: "203.0.113.5" })),
  header(OTHER, { packets: 10 }),
];

function effect(rule: Partial<OperatorRule>, terms: Partial<EffectTerms> = {}) {
  return ruleEffect(operatorRule(rule), {
    minute: { headers: MINUTE, seconds: 10 },
    isBanned: () => false,
    isExempt: () => false,
    isDecided: () => false,
    groupOf: (host) => (host === VICTIM ? "web" : "global"),
    ...terms,
  });
}

const UDP = { ...ANY_MATCH, protocols: exactly(17) };

test("a rule for everything drops all of it, also what is in no attack #order-effect-rates #order-effect-hosts #order-effect-rests-on", () => {
  expect(effect({})).toMatchObject({
    ...{ headers: 19, seconds: 10, hosts: 2, hostgroups: ["global", "web"], notJudged: [] },
    total: { pps: 100, mbps: 0.1 },
    unattacked: { pps: 10, mbps: 0.01 },
    dropped: { pps: 100 },
    droppedUnattacked: { pps: 10 },
    droppedBefore: { pps: 90 },
  });
});

test("a rule drops what it matches, of its destinations", () => {
  expect(effect({ match: UDP })).toMatchObject({ dropped: { pps: 91 }, droppedUnattacked: { pps: 1 }, hosts: 2 });
  const destinations = [prefix("192.0.2.128/25")];
  expect(effect({ match: UDP, destinations })).toMatchObject({ dropped: { pps: 1 }, hosts: 1, hostgroups: ["global"] });
  expect(effect({ match: { ...UDP, source: prefix("203.0.113.0/24") } }).dropped.pps).toBe(0);
});

test("while attacked it is for addresses with a ban #order-effect-is-what-the-rule-is", () => {
  expect(effect({ when: "attacked" }).matched.pps).toBe(0);
  const banned = effect({ when: "attacked" }, { isBanned: (host) => host === VICTIM });
  expect(banned).toMatchObject({ dropped: { pps: 90 }, droppedUnattacked: { pps: 0 }, hostgroups: ["web"] });
});

test("a rule that lets pass drops nothing, and says what it lets through that was dropped #order-effect-is-what-the-rule-is", () => {
  const pass = effect({ action: "pass", match: UDP });
  expect(pass).toMatchObject({ matched: { pps: 91 }, dropped: { pps: 0 }, droppedBefore: { pps: 90 }, hosts: 2 });
});

const LIMIT = { packetsPerSecond: 50, bytesPerSecond: 0, isPerSource: false, ipv4Length: 32, ipv6Length: 64 };

test("a limit drops what is over its rate, of all together or of each source #order-effect-is-what-the-rule-is", () => {
  const limited = (limit: object) => effect({ action: "limit", limit: { ...LIMIT, ...limit } });
  expect(limited({}).dropped.pps).toBeCloseTo(50, 6);
  expect(limited({}).droppedUnattacked.pps).toBeCloseTo(5, 6);
  expect(limited({ packetsPerSecond: 200 })).toMatchObject({ dropped: { pps: 0 }, matched: { pps: 100 }, hosts: 0 });
  // 0.1 Mbit/s is 12,500 bytes/s.
  expect(limited({ packetsPerSecond: 0, bytesPerSecond: 2500 }).dropped.pps).toBeCloseTo(80, 6);
  // One source sends 91 packets/s, the other 9.
  expect(limited({ isPerSource: true }).dropped.pps).toBeCloseTo(41, 6);
  expect(limited({ isPerSource: true, ipv4Length: 8 }).dropped.pps).toBeCloseTo(41, 6);
  expect(limited({ isPerSource: true, packetsPerSecond: 4 }).dropped.pps).toBeCloseTo(91 + 5, 6);
});

test("what is decided before the rules is left aside, and what headers do not show is named #order-effect-not-judged", () => {
  expect(effect({}, { isDecided: ({ isAttacked }) => isAttacked }).dropped.pps).toBe(10);
  expect(effect({}, { isExempt: (host) => host === OTHER }).dropped.pps).toBe(90);
  const match = { ...ANY_MATCH, inSets: ["blocked"], ttl: { from: 1, to: 5 } };
  expect(effect({ match }).notJudged).toEqual(["source_sets", "ttl"]);
});

test("of no headers nothing is dropped", () => {
  expect(effect({}, { minute: { headers: [], seconds: 0 } })).toMatchObject({ total: { pps: 0 }, dropped: { pps: 0 } });
});
