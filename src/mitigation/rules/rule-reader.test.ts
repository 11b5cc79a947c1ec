import { describe, expect, test } from "bun:test";
import { randomRule } from "../../../test/fixtures/dataplane/filter-cases.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { Chance, seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { formsOf, RULE_CAPABILITIES, ruleSupportOf } from "../../scrub/rule-forms.ts";
import { type Rule, ruleText, ruleToWire, wideRule } from "./rule.ts";
import { RuleProblem, readRule } from "./rule-reader.ts";

const VICTIM = prefix("203.0.113.9/32");
const DISCARD = { action: "discard" };
const ANY: Rule = wideRule(VICTIM, { kind: "discard" });

function problemOf(wire: unknown): string {
  try {
    return `read as ${ruleText(readRule(wire, VICTIM))}`;
  } catch (cause) {
    if (cause instanceof RuleProblem) return cause.message;
    throw cause;
  }
}

test("reads back what is written for a node that supports all fields", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const chance = new Chance(seededRandom(seed));
  const support = ruleSupportOf(RULE_CAPABILITIES);
  let read = 0;
  for (let i = 0; i < 5000; i++) {
    const rule = randomRule(chance);
    const { destination, source } = rule;
    if (destination === null || (source !== null && source.family !== destination.family)) continue;
    for (const form of formsOf([rule], support).rules) {
      const wire: unknown = JSON.parse(JSON.stringify(ruleToWire(form)));
      expect({ seed, rule: readRule(wire, destination) }).toEqual({ seed, rule: form });
      read++;
    }
  }
  expect(read).toBeGreaterThan(1000);
});

test("absent or zero matches anything, and unknown keys are ignored", () => {
  const zeros = { proto: 0, src_port: 0, dst_port: 0, tcp_flags: 0, fragment: false, colour: "blue", ...DISCARD };
  expect(readRule(zeros, VICTIM)).toEqual(ANY);
  expect(readRule(DISCARD, VICTIM)).toEqual(ANY);
});

test("a rule without a destination is for its ban's alone", () => {
  const network = prefix("203.0.113.0/24");
  expect(readRule(DISCARD, network).destination).toEqual(network);
  expect(readRule({ ...DISCARD, dst: "203.0.113.9/32" }, network).destination).toEqual(VICTIM);
});

test("a rate below a byte a second is a discard", () => {
  const limited = (rate: number) => readRule({ action: "rate_limit", rate_bytes: rate }, VICTIM).action;
  expect(limited(0)).toEqual({ kind: "discard" });
  expect(limited(0.9)).toEqual({ kind: "discard" });
  expect(limited(1)).toEqual({ kind: "rate_limit", bytesPerSecond: 1 });
});

describe("refuses by name", () => {
  test.each([
    [null, "must be an object"],
    [[], "must be an object"],
    [{}, "action: must be discard or rate_limit"],
    [{ action: "redirect" }, "action: must be discard or rate_limit"],
    [{ action: "rate_limit" }, "rate_bytes: must be a number of bytes per second"],
    [{ action: "rate_limit", rate_bytes: -1 }, "rate_bytes: must be a number of bytes per second"],
    [{ ...DISCARD, dst: "203.0.113.10/32" }, "dst: 203.0.113.10/32 is not inside of 203.0.113.9/32"],
    [{ ...DISCARD, dst: "0.0.0.0/0" }, "dst: 0.0.0.0/0 is not inside of 203.0.113.9/32"],
    [{ ...DISCARD, dst: "2001:db8::9/128" }, "dst: 2001:db8::9/128 is not inside of 203.0.113.9/32"],
    [{ ...DISCARD, dst: "203.0.113.9" }, "dst: must be a CIDR without host bits"],
    [{ ...DISCARD, dst: null }, "dst: must be a CIDR without host bits"],
    [{ ...DISCARD, src: "198.51.100.1/24" }, "src: must be a CIDR without host bits"],
    [{ ...DISCARD, src: "2001:db8::/32" }, "src: 2001:db8::/32 is of another family than 203.0.113.9/32"],
    [{ ...DISCARD, proto: 256 }, "proto: must be a whole number from 0 to 255"],
    [{ ...DISCARD, proto: "udp" }, "proto: must be a whole number from 0 to 255"],
    [{ ...DISCARD, protos: [] }, "protos: must be a list of 1 to 5 ranges"],
    [{ ...DISCARD, protos: [{ from: 1, to: 256 }] }, "protos: from and to must be protocols, in this order"],
    [{ ...DISCARD, protos: [{ from: 9 }] }, "protos: from and to must be protocols, in this order"],
    [{ ...DISCARD, proto: 6, protos: [{ from: 6, to: 7 }] }, "protos: goes without proto"],
    [{ ...DISCARD, src_port: 1.5 }, "src_port: must be a whole number from 0 to 65535"],
    [{ ...DISCARD, dst_port: 65_536 }, "dst_port: must be a whole number from 0 to 65535"],
    [{ ...DISCARD, tcp_flags: -1 }, "tcp_flags: must be a whole number from 0 to 255"],
    [{ ...DISCARD, fragment: 1 }, "fragment: must be true or false"],
    [{ ...DISCARD, src_ports: [] }, "src_ports: must be a list of 1 to 5 ranges"],
    [{ ...DISCARD, src_ports: Array(6).fill({ from: 1, to: 1 }) }, "src_ports: must be a list of 1 to 5 ranges"],
    [{ ...DISCARD, dst_ports: [{ from: 2, to: 1 }] }, "dst_ports: from and to must be ports, in this order"],
    [{ ...DISCARD, dst_ports: [7] }, "dst_ports: must be an object"],
    [{ ...DISCARD, dst_port: 1, dst_ports: [{ from: 2, to: 3 }] }, "dst_ports: goes without dst_port"],
    [{ ...DISCARD, packet_length: { min: 9 } }, "packet_length: min and max must be lengths in bytes, in this order"],
    [
      { ...DISCARD, packet_length: { min: 9, max: 8 } },
      "packet_length: min and max must be lengths in bytes, in this order",
    ],
  ])("%j", (wire, problem) => {
    expect(problemOf(wire)).toBe(problem);
  });
});
