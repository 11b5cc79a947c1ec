/** Rules of attacks on hosts of whose users nothing is known but what the sample shows. */
import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { type IpPacket, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { Dice } from "../../../test/fixtures/packets/labelled-packets.ts";
import { sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { classify } from "../../detection/attack/classifier.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import { hostPrefix } from "../../net/prefix.ts";
import { METRICS } from "../../traffic/rates.ts";
import { attackRules } from "./attack-rules.ts";
import { ruleMatches } from "./match.ts";
import { type Rule, rulesText } from "./rule.ts";

const VICTIM = "203.0.113.9";
const PREFIX = hostPrefix(address(VICTIM));
const POLICY = { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration: 0.8 } as const;
const THRESHOLD = 250;

function drawn(count: number, seed: number, packetOf: (dice: Dice) => IpPacket): SampledPacket[] {
  const dice = new Dice(seededRandom(seed));
  return Array.from({ length: count }, () => sampledPacket(packetOf(dice)));
}

/** Of a source drawn for each packet. */
const flood = (count: number, seed: number, toPort: (dice: Dice) => number, bytes: (dice: Dice) => number) =>
  drawn(count, seed, (dice) => {
    const payload = new Uint8Array(bytes(dice));
    return ip(
      { src: dice.address(4), dst: VICTIM },
      udp({ sourcePort: dice.port(), destinationPort: toPort(dice), payload }),
    );
  });

/** Of a few players. */
const players = (count: number, seed: number, port: number) =>
  drawn(count, seed, (dice) => {
    const player = dice.below(8);
    const payload = new Uint8Array(500 + dice.below(60));
    return ip(
      { src: `198.51.100.${player + 1}`, dst: VICTIM },
      udp({ sourcePort: 50_000 + player, destinationPort: port, payload }),
    );
  });

function made(packets: readonly SampledPacket[], before: readonly Rule[] = [], timesThreshold = 4) {
  const rates = METRICS.map((metric) => (metric === "pps" ? timesThreshold * THRESHOLD : 0));
  const thresholds = METRICS.map((metric) => (metric === "pps" ? THRESHOLD : 0));
  const classification = classify(packets, { gate: 0.5, unit: "packets", timesThreshold, held: null });
  const attack = {
    direction: "incoming",
    metric: "pps",
    threshold: THRESHOLD,
    rates,
    thresholds,
    classification,
  } as const;
  return attackRules(PREFIX, [{ attack, packets, profile: null }], POLICY, before);
}

const kindsOf = (rules: readonly Rule[], packets: readonly SampledPacket[]) =>
  new Set(packets.flatMap(({ header }) => rules.find((rule) => ruleMatches(rule, header))?.action.kind ?? "passed"));

const port = (dice: Dice) => dice.port();

describe("beside a flood that draws a source for each packet", () => {
  test("sources that come again and again are users, who are spared", () => {
    const users = players(60, 2, 30_000);
    const packets = flood(
      500,
      1,
      () => 30_000,
      (dice) => 500 + dice.below(60),
    );
    const { rules } = made([...packets, ...users]);
    expect(kindsOf(rules, users), rulesText(rules)).toEqual(new Set(["passed"]));
    const matched = packets.filter(({ header }) => rules.some((rule) => ruleMatches(rule, header)));
    expect(matched.length, rulesText(rules)).toBeGreaterThan(480);
  });

  test("a few sources that come twice are none", () => {
    const packets = flood(
      500,
      1,
      () => 30_000,
      (dice) => 500 + dice.below(60),
    );
    const { rules } = made([...packets, ...packets.slice(0, 10)]);
    expect(kindsOf(rules, packets), rulesText(rules)).toEqual(new Set(["discard"]));
  });
});

test("a guess does not change the action of a rule that is in force", () => {
  const packets = flood(600, 3, port, (dice) => dice.below(1400));
  const first = made(packets).rules;
  const discarding = first.map((rule): Rule => ({ ...rule, action: { kind: "discard" } }));
  expect(made(packets, discarding).rules.map(({ action }) => action.kind)).toEqual(first.map(() => "discard"));
});
