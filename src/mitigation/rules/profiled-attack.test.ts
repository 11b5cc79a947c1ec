/** Rules of attacks on hosts whose traffic before the attack is known. */
import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { type IpPacket, icmp, ip, TCP_FLAGS, type Transport, tcp, udp } from "../../../test/fixtures/packets/frames.ts";
import { Dice } from "../../../test/fixtures/packets/labelled-packets.ts";
import { sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import { userPacket } from "../../../test/fixtures/packets/user-packets.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { classify } from "../../detection/attack/classifier.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import { hostPrefix } from "../../net/prefix.ts";
import { ruleMatches } from "./match.ts";
import { RULES_MAX, type Rule, rulesText } from "./rule.ts";
import { type FlowspecPolicy, rulesFor } from "./rule-generator.ts";

const VICTIM = "203.0.113.9";
const POLICY: FlowspecPolicy = { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration: 0.8 };
const { syn, ack, psh, rst } = TCP_FLAGS;

function drawn(count: number, seed: number, packetOf: (dice: Dice) => IpPacket): SampledPacket[] {
  const dice = new Dice(seededRandom(seed));
  return Array.from({ length: count }, () => sampledPacket(packetOf(dice)));
}

const users = (count: number, seed: number) => {
  const peers = Array.from({ length: 100 }, (_, i) => `198.51.100.${i + 1}`);
  return drawn(count, seed, (dice) => userPacket({ dice, family: 4, victim: VICTIM }, peers));
};
const attack = (count: number, seed: number, transport: (dice: Dice) => Transport) =>
  drawn(count, seed, (dice) => ip({ src: dice.address(4), dst: VICTIM }, transport(dice)));
const share = (rules: readonly Rule[], packets: readonly SampledPacket[]) =>
  packets.filter(({ header }) => rules.some((rule) => ruleMatches(rule, header))).length / packets.length;

const PROFILE = { packets: users(512, 1), packetsPerSecond: null };
const LATER_USERS = users(4000, 2);

function made(packets: readonly SampledPacket[], present: readonly Rule[] = [], timesThreshold = 4) {
  const classification = classify(packets, { gate: 0.5, unit: "packets", timesThreshold, held: null });
  const evidence = { prefix: hostPrefix(address(VICTIM)), direction: "incoming", classification, packets } as const;
  return rulesFor({ ...evidence, unit: "packets", timesThreshold, perSecond: 0, profile: PROFILE }, POLICY, present);
}

const synAck = (dice: Dice) => tcp({ sourcePort: 443, destinationPort: dice.port(), flags: syn | ack });
const reset = (dice: Dice) => tcp({ sourcePort: 443, destinationPort: dice.port(), flags: rst });
const answer = (sourcePort: number, bytes: number) => (dice: Dice) =>
  udp({ sourcePort, destinationPort: dice.port(), payload: new Uint8Array(bytes + dice.below(200)) });

test("a part of some percent has a rule of its own, and pings have none", () => {
  const parts = [
    [900, synAck],
    [80, reset],
    [40, () => icmp(new Uint8Array(40))],
  ] as const;
  const packets = parts.flatMap(([count, transport], i) => attack(count, i, transport));
  const { rules, separability } = made([...users(300, 3), ...packets]);
  for (const [i, [, transport]] of parts.entries()) {
    expect(share(rules, attack(500, 10 + i, transport)), rulesText(rules)).toBe(1);
  }
  expect(share(rules, LATER_USERS), rulesText(rules)).toBeLessThanOrEqual(0.005);
  expect(separability.verdict).toBe("yes");
});

test("answers of the host's resolvers are not matched with those that are amplified", () => {
  const { rules } = made([...users(300, 3), ...attack(700, 4, answer(53, 1100))]);
  expect(share(rules, attack(500, 5, answer(53, 1100))), rulesText(rules)).toBe(1);
  expect(share(rules, LATER_USERS), rulesText(rules)).toBeLessThanOrEqual(0.005);
});

describe("users who alone exceed the threshold", () => {
  test("do not keep a part of the attack from its rule, where what else exceeds the threshold is like them", () => {
    const ofUsers = users(4000, 7).filter(({ header }) => header.tcpFlags === ack && header.ports?.destination === 443);
    const [large, small] = [answer(161, 600), answer(1900, 300)];
    const begun = made([...users(500, 3), ...attack(600, 4, large)], [], 3);
    const parts = [...attack(600, 5, large), ...attack(25, 6, small), ...ofUsers.slice(0, 1000)];
    const { rules } = made([...users(400, 8), ...parts], begun.rules, 5);
    expect(share(rules, [...attack(300, 9, large), ...attack(300, 10, small)]), rulesText(rules)).toBe(1);
    expect(share(rules, LATER_USERS), rulesText(rules)).toBeLessThanOrEqual(0.005);
  });

  test("are not matched while an attack explains the rest", () => {
    const { rules } = made([...users(900, 3), ...attack(120, 4, answer(161, 600))], [], 20);
    expect(share(rules, attack(500, 5, answer(161, 600))), rulesText(rules)).toBe(1);
    expect(share(rules, LATER_USERS), rulesText(rules)).toBe(0);
  });

  test("are at risk where there is nothing else, and no rule is for all traffic", () => {
    const { matchesAll, separability, atRisk } = made(users(1000, 3), [], 20);
    expect(matchesAll).toBe(false);
    expect(separability.verdict).toBe("no");
    expect(Math.min(...atRisk.map(({ share }) => share))).toBeGreaterThan(0.01);
  });
});

test("users who send something new are not matched once the attack's rule leaves less than the threshold", () => {
  const longer = (dice: Dice) =>
    tcp({ sourcePort: dice.port(), destinationPort: 80, flags: ack | psh, payload: new Uint8Array(131) });
  const parts = [...attack(500, 4, answer(53, 1300)), ...attack(100, 5, longer), ...attack(15, 6, reset)];
  const { rules, separability } = made([...users(300, 3), ...parts], [], 1.5);
  expect(share(rules, attack(500, 7, answer(53, 1300))), rulesText(rules)).toBe(1);
  expect(share(rules, [...attack(500, 8, longer), ...attack(500, 9, reset)]), rulesText(rules)).toBe(0);
  expect(separability.verdict).toBe("yes");
});

test("a flood of the users' own SYNs is inseparable, and established connections are not matched", () => {
  const options = new Uint8Array(20).fill(1);
  const flood = (dice: Dice) => tcp({ sourcePort: dice.port(), destinationPort: 443, flags: syn, options });
  const { rules, separability } = made([...users(200, 3), ...attack(800, 4, flood)]);
  expect(separability.verdict).toBe("no");
  expect(share(rules, attack(500, 5, flood)), rulesText(rules)).toBe(1);
  const established = LATER_USERS.filter(({ header }) => ((header.tcpFlags ?? 0) & syn) === 0);
  expect(share(rules, established), rulesText(rules)).toBe(0);
});

describe("rules in force", () => {
  const first = made([...users(300, 3), ...attack(700, 4, answer(161, 600))]).rules;

  test("stay the same for other samples of the same attack", () => {
    for (let seed = 20; seed < 40; seed++) {
      const packets = [...users(300, seed), ...attack(700, seed, answer(161, 600))];
      expect(made(packets, first).rules).toEqual(first);
    }
  });

  test("stay when a further part of the attack gets a rule", () => {
    const parts = [...attack(600, 4, answer(161, 600)), ...attack(100, 5, answer(37_810, 300))];
    const { rules } = made([...users(300, 3), ...parts], first);
    expect(rules.slice(0, first.length)).toEqual([...first]);
    expect(share(rules, attack(500, 6, answer(37_810, 300)))).toBe(1);
    expect(rules.length).toBeLessThanOrEqual(RULES_MAX);
  });

  test("are replaced when they match users alone", () => {
    const { rules } = made(
      [...users(300, 3), ...attack(700, 4, synAck)],
      [{ ...(first[0] as Rule), sourcePorts: [], destinationPorts: [{ from: 443, to: 443 }] }],
    );
    expect(share(rules, LATER_USERS), rulesText(rules)).toBe(0);
    expect(share(rules, attack(500, 5, synAck)), rulesText(rules)).toBe(1);
  });
});
