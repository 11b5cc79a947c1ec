/** Rules are not cut between single packets of users: where lengths or ports do not separate them, it is said. */
import { describe, expect, test } from "bun:test";
import { SPARE_VECTORS } from "../../../test/fixtures/captures/spare-vectors.ts";
import { address } from "../../../test/fixtures/host-rows.ts";
import { Dice } from "../../../test/fixtures/packets/labelled-packets.ts";
import { sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import { type ServiceKind, ServiceUsers } from "../../../test/fixtures/packets/service-users.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { classify } from "../../detection/attack/classifier.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import { hostPrefix } from "../../net/prefix.ts";
import { ruleMatches } from "./match.ts";
import { type Rule, rulesText } from "./rule.ts";
import { rulesFor } from "./rule-generator.ts";

const VICTIM = "203.0.113.9";
const POLICY = { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration: 0.8 } as const;
const TIMES_THRESHOLD = 4;
const SEEDS = [1, 2, 3];

/** @param shortest packet of the attack, bytes */
function world(kind: ServiceKind, vector: string, seed: number, shortest = 0) {
  const path = { dice: new Dice(seededRandom(seed)), family: 4, victim: VICTIM } as const;
  const service = new ServiceUsers(kind, path);
  const users = (count: number) => Array.from({ length: count }, () => sampledPacket(service.packet()));
  const attack = (count: number) =>
    Array.from({ length: count }, () => SPARE_VECTORS[vector]?.(path) ?? [])
      .flat()
      .map((packet) => sampledPacket(packet))
      .filter(({ header }) => header.packetBytes >= shortest);
  const profile = { packets: users(700), packetsPerSecond: 75 };
  const packets = [...users(60), ...attack(800)];
  const classification = classify(packets, {
    ...{ gate: 0.5, unit: "packets", timesThreshold: TIMES_THRESHOLD, held: null },
  });
  const made = rulesFor(
    {
      ...{ prefix: hostPrefix(address(VICTIM)), direction: "incoming", classification, packets, profile },
      ...{ unit: "packets", timesThreshold: TIMES_THRESHOLD, perSecond: 1075 },
    },
    POLICY,
  );
  const shareOf = (some: readonly SampledPacket[]) => shareMatched(made.rules, some);
  return { made, usersMatched: shareOf(users(1500)), attackMatched: shareOf(attack(600)) };
}

function shareMatched(rules: readonly Rule[], packets: readonly SampledPacket[]): number {
  return packets.filter(({ header }) => rules.some((rule) => ruleMatches(rule, header))).length / packets.length;
}

describe.each(SEEDS)("beside users with few packets of the attack's kind (seed %d)", (seed) => {
  test.each(["psh-ack", "syn with options"])("a flood of %s is not called separable", (vector) => {
    const { made, usersMatched, attackMatched } = world("game", vector, seed);
    expect([made.separability.verdict === "yes" && usersMatched > 0.01, rulesText(made.rules)]).toEqual([
      false,
      rulesText(made.rules),
    ]);
    expect(attackMatched).toBeGreaterThan(0.98);
    // The ports of single clients are no field of a rule.
    expect(made.rules.flatMap(({ sourcePorts }) => sourcePorts)).toEqual([]);
  });

  test("lengths that both send are separated by ports", () => {
    const { made, usersMatched, attackMatched } = world("voip", "udp random lengths", seed);
    expect(attackMatched, rulesText(made.rules)).toBeGreaterThan(0.98);
    expect(usersMatched, rulesText(made.rules)).toBeLessThan(0.01);
    expect(made.separability.verdict).toBe("yes");
  });

  test("lengths that users lack come first where other fields would add little of the attack", () => {
    const { made, usersMatched, attackMatched } = world("voip", "udp random lengths", seed, 750);
    expect([attackMatched > 0.98, usersMatched < 0.01], rulesText(made.rules)).toEqual([true, true]);
    expect(made.rules[0]?.packetLengths[0]?.from, rulesText(made.rules)).toBeGreaterThan(900);
  });
});
