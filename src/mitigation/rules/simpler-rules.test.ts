import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { attackOn } from "../../../test/fixtures/mitigation/ban-engine.ts";
import { ip, TCP_FLAGS, type Transport, tcp, udp } from "../../../test/fixtures/packets/frames.ts";
import { Dice } from "../../../test/fixtures/packets/labelled-packets.ts";
import { floodPackets, ordinaryPackets, sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { classify } from "../../detection/attack/classifier.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import type { Vector } from "../../detection/attack/vector.ts";
import { hostPrefix } from "../../net/prefix.ts";
import { exactly } from "../../net/range.ts";
import { canExpress, ruleSupportOf } from "../../scrub/rule-forms.ts";
import { attackRules } from "./attack-rules.ts";
import { ruleMatches } from "./match.ts";
import { type Rule, rulesText, wideRule } from "./rule.ts";
import { type SimplerRules, simplerRules } from "./simpler-rules.ts";

const VICTIM = address("203.0.113.9");
const PREFIX = hostPrefix(VICTIM);
const FLOWSPEC = { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration: 0.8 } as const;
const FIRST_VERSION = ruleSupportOf([]);
const { syn, ack } = TCP_FLAGS;

const crowd = (count: number, seed: number) => ({ count, victim: VICTIM, random: seededRandom(seed) });
const LATER_USERS = ordinaryPackets(crowd(4000, 7));
const share = (rules: readonly Rule[], packets: readonly SampledPacket[]) =>
  packets.filter(({ header }) => rules.some((rule) => ruleMatches(rule, header))).length / packets.length;
const drawn = (count: number, seed: number, transport: (dice: Dice) => Transport) => {
  const dice = new Dice(seededRandom(seed));
  return Array.from({ length: count }, () => sampledPacket(ip({ src: dice.address(4), dst: VICTIM }, transport(dice))));
};

/** The attacked host's packets, whose traffic before the attack is known. */
function observe(packets: readonly SampledPacket[]) {
  const classification = classify(packets, { gate: 0.5, unit: "packets", timesThreshold: 5, held: null });
  const profile = { packets: ordinaryPackets(crowd(512, 9)), packetsPerSecond: null };
  return { attack: { ...attackOn(VICTIM), classification }, packets, profile };
}

function simplified(flood: readonly SampledPacket[], present: readonly Rule[] = [], seed = 4) {
  const observed = observe([...flood, ...ordinaryPackets(crowd(flood.length / 10, seed))]);
  const precise = attackRules(PREFIX, [observed], FLOWSPEC, []).rules;
  const request = { prefix: PREFIX, attacks: [observed], flowspec: FLOWSPEC, precise, present };
  const simpler = simplerRules({ ...request, canExpress: (rule) => canExpress(rule, FIRST_VERSION), rulesMax: 8 });
  return { precise, simpler: simpler as SimplerRules };
}

describe("for a reader of the first version", () => {
  test.each<[Vector, string]>([
    ["syn_flood", "proto tcp dst-port 443 tcp-flags syn"],
    ["ntp_amplification", "proto udp src-port 123"],
    ["icmp_flood", "proto icmp"],
    ["rst_flood", "proto tcp tcp-flags rst"],
    ["udp_flood", "proto udp src-port 40000"],
  ])("a %s has rules that it supports and that match it", (vector, text) => {
    const { precise, simpler } = simplified(floodPackets(vector, crowd(512, 3)));
    expect(precise.some((rule) => canExpress(rule, FIRST_VERSION))).toBe(false);
    expect(rulesText(simpler.rules)).toBe(`dst 203.0.113.9/32 ${text} discard`);
    expect(simpler.leftOut).toBe(0);
    expect(share(simpler.rules, floodPackets(vector, crowd(2000, 5)))).toBeGreaterThanOrEqual(0.98);
    expect(share(simpler.rules, LATER_USERS)).toBeLessThanOrEqual(0.03);
  });

  const answer =
    (bytes: number, sourcePort = 53) =>
    (dice: Dice) =>
      udp({ sourcePort, destinationPort: dice.port(), payload: new Uint8Array(bytes) });

  test("answers of DNS of one length are matched by their port", () => {
    const { precise, simpler } = simplified(drawn(700, 1, answer(1200)));
    expect(precise.map(({ packetLengths }) => packetLengths)).not.toContainEqual([]);
    expect(rulesText(simpler.rules)).toBe("dst 203.0.113.9/32 proto udp src-port 53 discard");
    expect(simpler.leftOut).toBe(0);
  });

  test("what only a rule that harms users could match is left out, and counted", () => {
    const synAck = (dice: Dice) => tcp({ sourcePort: 443, destinationPort: dice.port(), flags: syn | ack });
    // As many as are worth a rule, but not the users' own SYNs.
    const bare = (dice: Dice) => tcp({ sourcePort: dice.port(), destinationPort: 443, flags: syn });
    const { precise, simpler } = simplified([...drawn(900, 1, synAck), ...drawn(60, 2, bare)]);
    expect(share(precise, drawn(100, 3, bare)), rulesText(precise)).toBe(1);
    expect(share(simpler.rules, drawn(100, 3, synAck))).toBe(1);
    expect(share(simpler.rules, drawn(100, 3, bare)), rulesText(simpler.rules)).toBe(0);
    expect(simpler.leftOut).toBe(1);
  });

  const simplify = (flood: readonly SampledPacket[], users: number, precise: readonly Rule[]) => {
    const attacks = [observe([...flood, ...ordinaryPackets(crowd(users, 4))])];
    const request = { prefix: PREFIX, attacks, flowspec: FLOWSPEC, precise, present: [] };
    return simplerRules({ ...request, canExpress: (rule) => canExpress(rule, FIRST_VERSION), rulesMax: 8 });
  };
  const wide = wideRule(PREFIX, FLOWSPEC.action);
  const ports = (...of: number[]) => of.map((port) => ({ from: port, to: port }));

  test("precise rules that it supports come first, as they are", () => {
    const supported = { ...wide, protocols: exactly(17), sourcePorts: ports(161, 1161) };
    const byLength = { ...wide, protocols: exactly(1), packetLengths: [{ from: 1028, to: 1028 }] };
    const flood = [...drawn(500, 1, answer(1200, 161)), ...floodPackets("icmp_flood", crowd(300, 3))];
    const simpler = simplify(flood, 80, [supported, byLength]);
    expect(simpler).toEqual({ rules: [supported, { ...wide, protocols: exactly(1) }], leftOut: 0 });
  });

  test("a small flood of ACKs is left out, since users would lose more; what it supports stays", () => {
    const acks = (dice: Dice) => tcp({ sourcePort: dice.port(), destinationPort: 443, flags: ack });
    const byLength = { ...wide, protocols: exactly(6), packetLengths: [{ from: 40, to: 40 }] };
    const paused = { ...wide, protocols: exactly(17), sourcePorts: ports(123) };
    expect(simplify(drawn(300, 1, acks), 700, [byLength, paused])).toEqual({ rules: [paused], leftOut: 1 });
  });

  test("rules stay the same for other samples of the same attack", () => {
    const first = simplified(floodPackets("syn_flood", crowd(512, 3))).simpler;
    for (let seed = 20; seed < 30; seed++) {
      const flood = floodPackets("syn_flood", crowd(512, seed));
      expect(simplified(flood, first.rules, seed + 100).simpler).toEqual(first);
    }
  });

  test("none are found without packets of the attack", () => {
    const request = {
      prefix: PREFIX,
      flowspec: FLOWSPEC,
      precise: [],
      present: [],
      canExpress: () => true,
      rulesMax: 8,
    };
    const outgoing = { ...observe(drawn(100, 1, answer(1200))) };
    for (const attacks of [[], [{ ...outgoing, attack: { ...outgoing.attack, direction: "outgoing" } as const }]]) {
      expect(simplerRules({ ...request, attacks })).toBeNull();
    }
  });
});
