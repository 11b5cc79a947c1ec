import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { ip, TCP_FLAGS, tcp } from "../../../test/fixtures/packets/frames.ts";
import { floodPackets, ordinaryPackets, sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { ruleProblem } from "../../bgp/flowspec-nlri.ts";
import { classify } from "../../detection/attack/classifier.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import { VECTORS, type Vector } from "../../detection/attack/vector.ts";
import { hostPrefix } from "../../net/prefix.ts";
import { isInRanges } from "../../net/range.ts";
import { ruleMatches } from "./match.ts";
import { RULES_MAX, type Rule, rulesText } from "./rule.ts";
import { type Evidence, type FlowspecPolicy, rulesFor } from "./rule-generator.ts";

const VICTIMS = [address("203.0.113.9"), address("2001:db8::9")] as const;
const [VICTIM] = VICTIMS;
const POLICY: FlowspecPolicy = { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration: 0.8 };
/** The least and the largest number of packets in a sample. */
const SAMPLES = [64, 512];

function evidenceOf(packets: readonly SampledPacket[], changes: Partial<Evidence> = {}): Evidence {
  const timesThreshold = changes.timesThreshold ?? 10;
  const classification = classify(packets, { gate: 0.5, unit: "packets", timesThreshold, held: null });
  return {
    prefix: hostPrefix(packets[0]?.header.destination ?? VICTIM),
    direction: "incoming",
    classification,
    packets,
    timesThreshold,
    unit: "packets",
    perSecond: 0,
    profile: null,
    ...changes,
  };
}

function matchedShare(rules: readonly Rule[], packets: readonly SampledPacket[]): number {
  return packets.filter(({ header }) => rules.some((rule) => ruleMatches(rule, header))).length / packets.length;
}

/** A fixed seed: the packets are random, and a rule from 64 packets does not always match 98 %. */
const crowd = (count: number, seed: number, victim = VICTIM) => ({ count, victim, random: seededRandom(seed) });
const ORDINARY = ordinaryPackets(crowd(10_000, 5));

describe.each(VECTORS.filter((vector) => vector !== "mixed"))("%s", (vector: Vector) => {
  test("gets few rules that name the victim, can be announced and catch it, alone or among other traffic", () => {
    for (const [i, victim] of VICTIMS.entries()) {
      const later = floodPackets(vector, crowd(1_000, i, victim));
      for (const count of SAMPLES) {
        const seed = i + count;
        const flood = floodPackets(vector, crowd(count, seed, victim));
        for (const [timesThreshold, ordinary] of [
          [10, 0],
          [10, 0.05],
          [2, 0.3],
        ] as const) {
          const packets = [...flood, ...ordinaryPackets(crowd(count * ordinary, seed + 1, victim))];
          const { rules, matchesAll } = rulesFor(evidenceOf(packets, { timesThreshold }), POLICY);
          const message = `${rulesText(rules)} (seed ${seed}, ${count} packets, ${ordinary} ordinary)`;
          expect(matchesAll, message).toBe(false);
          expect(rules.length, message).toBeLessThanOrEqual(RULES_MAX);
          expect(new Set(rules.map((rule) => rule.destination?.text)), message).toEqual(
            new Set([hostPrefix(victim).text]),
          );
          expect(rules.map(ruleProblem), message).toEqual(rules.map(() => null));
          expect(matchedShare(rules, flood), message).toBeGreaterThanOrEqual(0.98);
          expect(matchedShare(rules, later), message).toBeGreaterThanOrEqual(0.98);
        }
      }
    }
  });

  test("does not match legitimate traffic", () => {
    const packets = [...floodPackets(vector, crowd(512, 3)), ...ordinaryPackets(crowd(25, 4))];
    const { rules } = rulesFor(evidenceOf(packets), POLICY);
    expect(matchedShare(rules, ORDINARY), rulesText(rules)).toBeLessThanOrEqual(0.001);
  });
});

test.each([
  ["syn_flood", "proto tcp dst-port 443 tcp-flags syn,!ack length 40"],
  ["rst_flood", "proto tcp dst-port 0-79,81-442,444-65535 tcp-flags rst,!syn"],
  ["tcp_flood", "proto tcp dst-port 443 tcp-flags !syn,!rst length 552"],
  ["udp_flood", "proto udp src-port 40000 length 540"],
  ["icmp_flood", "proto icmp length 1028"],
  ["gre_flood", "proto gre"],
  ["fragment_flood", "proto udp fragment yes"],
] as const)("the rule of a %s says %j", (vector, text) => {
  const { rules } = rulesFor(evidenceOf(floodPackets(vector, crowd(512, 1))), POLICY);
  expect(rulesText(rules)).toBe(`dst 203.0.113.9/32 ${text} discard`);
});

test("an attack of several vectors gets rules for each of its parts", () => {
  const flood = (vector: Vector, seed: number) => floodPackets(vector, crowd(200, seed));
  const packets = [...flood("syn_flood", 1), ...flood("ntp_amplification", 2), ...flood("icmp_flood", 3)];
  const { rules } = rulesFor(evidenceOf(packets), POLICY);
  for (const vector of ["syn_flood", "ntp_amplification", "icmp_flood"] as const) {
    expect(matchedShare(rules, floodPackets(vector, crowd(2_000, 9))), rulesText(rules)).toBeGreaterThanOrEqual(0.98);
  }
  expect(matchedShare(rules, ORDINARY)).toBeLessThanOrEqual(0.001);
});

test("the ports of a few connections of one client are no property of an attack", () => {
  const ends = { src: "192.0.2.130", dst: VICTIM };
  // A flood that is hardly more than the threshold, and a client of whom nothing was known before.
  const connections = Array.from({ length: 48 }, (_, i) =>
    sampledPacket(ip(ends, tcp({ sourcePort: 42_000 + (i % 8), destinationPort: 80, flags: TCP_FLAGS.ack }))),
  );
  const packets = [...floodPackets("dns_amplification", crowd(60, 1)), ...connections];
  const textFor = (timesThreshold: number, changes: Partial<Evidence> = {}) =>
    rulesText(rulesFor(evidenceOf(packets, { timesThreshold, ...changes }), POLICY).rules);
  // Too few packets to know a host by.
  expect(textFor(1.5, { profile: { packets: connections.slice(0, 20), packetsPerSecond: null } })).not.toContain(
    "proto tcp",
  );
  for (const timesThreshold of [1.1, 1.5, 2]) expect(textFor(timesThreshold)).not.toContain("proto tcp");
  // What is left is an attack by itself: its rule names what its packets have in common.
  expect(textFor(4)).toContain("proto tcp dst-port 80");
  expect(textFor(4)).not.toContain("src-port 42");
});

test("what all packets have in common is left out where they are few", () => {
  const { rules } = rulesFor(evidenceOf(floodPackets("syn_flood", crowd(20, 1))), POLICY);
  expect(rulesText(rules)).toBe("dst 203.0.113.9/32 proto tcp tcp-flags syn,!ack length 40 discard");
});

test("without packets there is nothing narrower than all, and it says so", () => {
  const { rules, matchesAll, separability } = rulesFor(evidenceOf([]), POLICY);
  expect(rulesText(rules)).toBe("dst 203.0.113.9/32 discard");
  expect(matchesAll).toBe(true);
  expect(separability).toMatchObject({ verdict: "unknown", usersAtRisk: 1 });
});

test("protocols drawn at random are all but those of users", () => {
  const protocols = Array.from({ length: 200 }, (_, i) => {
    const [packet] = floodPackets("gre_flood", crowd(1, i));
    return { ...packet, header: { ...packet?.header, protocol: i } } as SampledPacket;
  });
  const { rules, separability } = rulesFor(evidenceOf(protocols), POLICY);
  const matched = protocols.filter(({ header }) => rules.some((rule) => ruleMatches(rule, header)));
  expect(matched.length).toBeGreaterThan(0.9 * protocols.length);
  expect(rules.every(({ protocols: ranges }) => ![1, 6, 17, 47, 50].some((each) => isInRanges(ranges, each)))).toBe(
    true,
  );
  expect(separability).toMatchObject({ verdict: "yes", estimatedBy: "protocol" });
});

test("a protocol that no vector is named for is a rule by itself", () => {
  const packets = floodPackets("gre_flood", crowd(200, 1)).map((packet) => ({
    ...packet,
    header: { ...packet.header, protocol: 253 },
  }));
  const { rules, matchesAll } = rulesFor(evidenceOf(packets), POLICY);
  expect(rulesText(rules)).toBe("dst 203.0.113.9/32 proto 253 discard");
  expect(matchesAll).toBe(false);
});

test("the rules of a carpet attack name its prefix", () => {
  const carpet = prefix("203.0.113.0/24");
  const packets = floodPackets("syn_flood", crowd(512, 1)).map((packet, i) => ({
    ...packet,
    header: { ...packet.header, destination: address(`203.0.113.${i % 250}`) },
  }));
  const { rules } = rulesFor(evidenceOf(packets, { prefix: carpet }), POLICY);
  expect(rulesText(rules)).toBe(`dst ${carpet.text} proto tcp dst-port 443 tcp-flags syn,!ack length 40 discard`);
});

test("an outgoing attack's rules name the host as their source", () => {
  const victimAsSource = floodPackets("syn_flood", crowd(512, 1)).map(({ header, ...rest }) => {
    const ports = header.ports === null ? null : { source: header.ports.source, destination: 443 };
    return { ...rest, header: { ...header, source: header.destination, destination: header.source, ports } };
  });
  const evidence = evidenceOf(victimAsSource, { prefix: hostPrefix(VICTIM), direction: "outgoing" });
  const { rules } = rulesFor(evidence, POLICY);
  expect(rulesText(rules)).toBe("src 203.0.113.9/32 proto tcp dst-port 443 tcp-flags syn,!ack length 40 discard");
});

describe("sources", () => {
  const anchoredToSources = { ...POLICY, sourceAnchored: true };
  const from = (sources: readonly string[]) =>
    floodPackets("udp_flood", crowd(512, 1)).map((packet, i) => ({
      ...packet,
      header: { ...packet.header, source: address(sources[i % sources.length] as string) },
    }));
  const sourcesOf = (packets: readonly SampledPacket[], policy: FlowspecPolicy) =>
    rulesFor(evidenceOf(packets), policy).rules.map((rule) => rule.source?.text ?? "any");

  test("are named as hosts if they are few and the policy enables it", () => {
    const few = from(["198.51.100.1", "198.51.100.2"]);
    expect(sourcesOf(few, anchoredToSources)).toEqual(["198.51.100.1/32", "198.51.100.2/32"]);
    expect(sourcesOf(few, POLICY)).toEqual(["any"]);
  });

  test("are named as networks where many hosts are near to each other", () => {
    const near = from(Array.from({ length: 100 }, (_, i) => `198.51.100.${i}`));
    expect(sourcesOf(near, anchoredToSources)).toEqual(["198.51.100.0/24"]);
  });

  test("are not named where they are everywhere", () => {
    expect(sourcesOf(floodPackets("udp_flood", crowd(512, 1)), anchoredToSources)).toEqual(["any"]);
  });

  test("are not named where what comes from others would be an attack still", () => {
    const packets = [...from(["198.51.100.1"]), ...floodPackets("udp_flood", crowd(100, 2))];
    expect(sourcesOf(packets, anchoredToSources)).toEqual(["any"]);
    expect(rulesFor(evidenceOf(packets, { timesThreshold: 2 }), anchoredToSources).rules[0]?.source?.text).toBe(
      "198.51.100.1/32",
    );
  });
});

test("the policy's action is that of every rule", () => {
  const action = { kind: "rate_limit", bytesPerSecond: 125_000 } as const;
  const { rules } = rulesFor(evidenceOf(floodPackets("dns_amplification", crowd(512, 1))), { ...POLICY, action });
  expect(rules.map((rule) => rule.action)).toEqual(rules.map(() => action));
});
