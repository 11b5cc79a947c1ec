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
import { canExpress, ruleSupportOf } from "../../scrub/rule-forms.ts";
import { attackRules } from "./attack-rules.ts";
import { type Rule, ruleMatches, rulesText } from "./rule.ts";
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
  const profile = { packets: ordinaryPackets(crowd(512, 9)) };
  return { attack: { ...attackOn(VICTIM), classification }, packets, profile };
}

function simplified(flood: readonly SampledPacket[], present: readonly Rule[] = [], seed = 4) {
  const observed = observe([...flood, ...ordinaryPackets(crowd(flood.length / 10, seed))]);
  const precise = attackRules(PREFIX, [observed], FLOWSPEC, []).rules;
  const request = { prefix: PREFIX, attacks: [observed], flowspec: FLOWSPEC, precise, present };
  const simpler = simplerRules({ ...request, canExpress: (rule) => canExpress(rule, FIRST_VERSION) });
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

  const answer = (bytes: number) => (dice: Dice) =>
    udp({ sourcePort: 53, destinationPort: dice.port(), payload: new Uint8Array(bytes) });

  test("answers of DNS of one length are matched by their port", () => {
    const { precise, simpler } = simplified(drawn(700, 1, answer(1200)));
    expect(precise.map(({ packetLength }) => packetLength)).not.toContain(null);
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

  test("rules stay the same for other samples of the same attack", () => {
    const first = simplified(floodPackets("syn_flood", crowd(512, 3))).simpler;
    for (let seed = 20; seed < 30; seed++) {
      const flood = floodPackets("syn_flood", crowd(512, seed));
      expect(simplified(flood, first.rules, seed + 100).simpler).toEqual(first);
    }
  });

  test("none are found without packets of the attack", () => {
    const request = { prefix: PREFIX, flowspec: FLOWSPEC, precise: [], present: [], canExpress: () => true };
    const outgoing = { ...observe(drawn(100, 1, answer(1200))) };
    for (const attacks of [[], [{ ...outgoing, attack: { ...outgoing.attack, direction: "outgoing" } as const }]]) {
      expect(simplerRules({ ...request, attacks })).toBeNull();
    }
  });
});
