/** A short form of `make spare`: users of services beside attacks, without and with a history. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { rulesText } from "../../src/mitigation/rules/rule.ts";
import { type History, spareFaultOf, spareScore } from "../fixtures/captures/spare-score.ts";
import type { ServiceKind } from "../fixtures/packets/service-users.ts";

setDefaultTimeout(120_000);

/** A vector for every way in which users were lost: by what comes after the attack's own rule, by fields, by chance. */
const CASES: readonly (readonly [vector: string, users: ServiceKind, history: History])[] = [
  ["five amplifiers", "game", "cold"],
  ["cldap in fragments", "dns", "cold"],
  ["dns", "resolver", "cold"],
  ["random tcp flags", "web", "cold"],
  ["answers from an unlisted port", "voip", "cold"],
  ["udp to the game", "game", "cold"],
  ["udp to all ports", "voip", "cold"],
  ["syn, udp and icmp", "mail", "cold"],
  ["random protocols", "vpn", "warm"],
  ["udp random lengths", "dns", "warm"],
  ["syn with options", "web", "warm"],
  ["sip", "voip", "warm"],
  ["dns queries", "game", "sampled"],
  ["psh-ack", "mail", "sampled"],
];

describe("users are spared, or the rules limit and say so", () => {
  test.each(CASES)("%s beside users of kind %s, %s", (vector, users, history) => {
    const score = spareScore({ users, vector, history, seed: 1 });
    expect(spareFaultOf(score), rulesText(score.rules)).toBeNull();
  });
});

/** Packets per second: few users, and users of whom more than a third of the threshold is left. */
const FEW = { attack: 3000, users: 30, threshold: 400 };
const MANY = { attack: 1000, users: 200, threshold: 500 };

describe("users of whom nothing is known are limited at most", () => {
  test.each([
    ["udp random lengths", "game", FEW],
    ["udp random lengths", "voip", { attack: 2000, users: 40, threshold: 1000 }],
    ["five amplifiers", "voip", MANY],
    ["random protocols", "voip", MANY],
  ] as const)("%s beside users of kind %s", (vector, users, rates) => {
    const score = spareScore({ users, vector, history: "cold", seed: 4, rates });
    expect(spareFaultOf(score), rulesText(score.rules)).toBeNull();
  });
});

test("users who send what the attack sends are limited, and not discarded", () => {
  const score = spareScore({ users: "dns", vector: "dns queries", history: "warm", seed: 1 });
  expect(score.verdict).toBe("no");
  expect(score.usersDiscarded).toBe(0);
  expect(score.attackMatched).toBeGreaterThan(0.9);
});

test("the same packets make the same rules", () => {
  const rules = () => rulesText(spareScore({ users: "voip", vector: "sip", history: "warm", seed: 3 }).rules);
  expect(rules()).toBe(rules());
});
