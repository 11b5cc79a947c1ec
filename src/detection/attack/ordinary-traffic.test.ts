import { expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { floodPackets, ordinaryPackets } from "../../../test/fixtures/packets/sampled-packets.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { classOf, classShares, unusualClasses } from "./ordinary-traffic.ts";
import type { Vector } from "./vector.ts";

const crowd = (count: number, seed: number) => ({ count, victim: address("203.0.113.9"), random: seededRandom(seed) });
const USERS = ordinaryPackets(crowd(1000, 1));
const unusualIn = (attack: Vector, count: number, timesThreshold: number) =>
  [...unusualClasses(classShares([...USERS, ...floodPackets(attack, crowd(count, 2))]), timesThreshold)].toSorted();

test("users alone show nothing unusual, however far above the threshold they are", () => {
  for (const timesThreshold of [1, 10, 100]) {
    expect(unusualClasses(classShares(USERS), timesThreshold).size).toBe(0);
  }
});

test.each([
  ["snmp_amplification", ["snmp_amplification"]],
  ["syn_flood", ["syn_without_options"]],
  ["gre_flood", ["gre_flood"]],
] as const)("a %s beside ten times as many users is unusual, and users are not", (vector, classes) => {
  expect(unusualIn(vector, 100, 2)).toEqual([...classes]);
});

test("protocols of users' tunnels and associations are classes of their own, all others one", () => {
  const [{ header }] = USERS as [(typeof USERS)[number]];
  const classes = [41, 42, 50, 51, 132].map((protocol) => classOf({ ...header, protocol }, null));
  expect(classes).toEqual(["protocol 41", "other protocols", "protocol 50", "protocol 51", "protocol 132"]);
});

test("what users send too is unusual where it is most of the traffic", () => {
  expect(unusualIn("ack_flood", 100, 2)).toEqual([]);
  expect(unusualIn("ack_flood", 9000, 2)).toEqual(["ack"]);
});
