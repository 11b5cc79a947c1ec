import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { exactly } from "../../net/range.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { flatHeader } from "./flat-header.ts";
import { ANY_PACKET } from "./rule.ts";
import { UsersAtRisk } from "./users-at-risk.ts";
import { scaled } from "./weighted-packet.ts";

const packet = (packetBytes: number, destination = 53): PacketHeader => ({
  ...{ source: address("198.51.100.1"), destination: address("203.0.113.9"), protocol: 17, tcpFlags: null },
  ...{ ports: { source: 40_000, destination }, fragment: null, packetBytes },
});
const packets = (lengths: readonly number[]) =>
  lengths.map((bytes) => ({ header: flatHeader(packet(bytes)), weight: 1 }));
const rule = (min: number, max: number) => ({
  ...ANY_PACKET,
  protocols: exactly(17),
  destinationPorts: exactly(53),
  packetLengths: [{ from: min, to: max }],
});
const seen = (lengths: readonly number[], areOthers = false) =>
  new UsersAtRisk({ seen: scaled(packets(lengths), 1), assumed: [], areOthers });

describe("a range of lengths", () => {
  test("has the packets that are in it", () => {
    expect(seen([60, 70, 80, 90]).matched(rule(65, 85))).toBeCloseTo(0.5);
  });

  test("in a gap of a sample has a part of what a gap has on average", () => {
    const users = seen([60, 100]);
    expect(users.matched(rule(61, 99))).toBeCloseTo(1 / 3);
    expect(users.matched(rule(70, 70))).toBeCloseTo(1 / 3 / 39);
  });

  test("has nothing of users who send no such packet", () => {
    expect(seen([60, 70]).matched({ ...rule(61, 65), destinationPorts: exactly(443) })).toBe(0);
  });

  test("is as dense as what is around it, where packets like the attack's are missing", () => {
    const around = Array.from({ length: 40 }, (_, i) => (i < 20 ? 60 + i : 100 + i));
    expect(seen(around, true).matched(rule(80, 119))).toBeGreaterThan(0.9);
    expect(seen(around, false).matched(rule(80, 119))).toBeLessThan(0.1);
    expect(seen([60, 61, 62], true).matched(rule(1000, 1100))).toBeLessThan(0.05);
  });

  /** Of the ranges that a finder could cut out of n packets: the share of users in the widest gap, at 1:1 to 1:10,000. */
  test.each([1, 10, 100, 1000, 10_000])("cut out of a sample of 1 in %d is not better than it is", (rate) => {
    const random = seededRandom(rate);
    const lengths = () => 40 + Math.floor(random() * 1400);
    let [estimated, real] = [0, 0];
    for (let round = 0; round < 200; round++) {
      const sample = Array.from({ length: Math.max(3, Math.round(2000 / rate)) }, lengths).sort((a, b) => a - b);
      let [min, max] = [0, 0];
      for (let i = 1; i < sample.length; i++) {
        const [from, to] = [(sample[i - 1] as number) + 1, (sample[i] as number) - 1];
        if (to - from > max - min) [min, max] = [from, to];
      }
      if (max <= min) continue;
      estimated += seen(sample).matched(rule(min, max));
      real += (max - min + 1) / 1400;
    }
    // The widest of n gaps is about ln(n) times the mean one: the estimate is of its order, and never zero.
    expect(estimated).toBeGreaterThan(real / (Math.log(2000 / rate + 2) + 2));
  });
});

test("packets that are assumed are some of those between their lengths", () => {
  const users = new UsersAtRisk({ seen: [], assumed: scaled(packets([100, 199]), 0.4), areOthers: false });
  expect(users.matched(rule(120, 129))).toBeCloseTo(0.04);
  expect(users.matched(rule(300, 400))).toBe(0);
});

test("of few packets one alone is tolerated, up to a hundredth", () => {
  const of = (count: number) => seen(Array.from({ length: count }, (_, i) => i)).tolerated;
  expect(of(10)).toBe(0.01);
  expect(of(200)).toBeCloseTo(0.006);
  expect(of(10_000)).toBe(0.002);
});
