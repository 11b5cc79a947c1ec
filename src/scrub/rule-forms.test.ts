import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { readByFirstVersion } from "../../test/fixtures/scrub/first-version-reader.ts";
import { type Rule, ruleToWire, wideRule } from "../mitigation/rules/rule.ts";
import { hostPrefix } from "../net/prefix.ts";
import { exactly } from "../net/range.ts";
import {
  formsOf,
  RULE_CAPABILITIES,
  RULE_FORMS_MAX,
  type RuleCapability,
  ruleSupportKey,
  ruleSupportOf,
} from "./rule-forms.ts";

const EVERYTHING = ruleSupportOf(RULE_CAPABILITIES);
const FIRST = ruleSupportOf([]);
const wide = wideRule(hostPrefix(address("192.0.2.1")), { kind: "discard" });
const rule = (changes: Partial<Rule>): Rule => ({ ...wide, protocols: exactly(17), ...changes });
const ports = (from: number, to = from) => ({ from, to });
/** But 0, and the protocols of ICMP, TCP and UDP. */
const ALL_BUT_COMMON = [ports(2, 5), ports(7, 16), ports(18, 255)];

describe("a node of the first version", () => {
  test.each<[string, Partial<Rule>]>([
    ["a protocol", {}],
    ["a port", { sourcePorts: [ports(53)] }],
    [
      "both ports and flags that are set",
      { sourcePorts: [ports(1)], destinationPorts: [ports(65_535)], tcpFlags: { set: 2, unset: 0 } },
    ],
    ["fragments", { fragment: true }],
    ["a limit", { action: { kind: "rate_limit", bytesPerSecond: 1000 } }],
  ])("gets %s as it is", (_, changes) => {
    const forms = formsOf([rule(changes)], FIRST);
    expect(forms).toEqual({ rules: [rule(changes)], split: 0, leftOut: 0 });
    for (const wire of forms.rules.map(ruleToWire)) expect<object>(readByFirstVersion(wire)).toEqual(wire);
  });

  test("gets few ports one by one, each with the whole rate of a limit", () => {
    const action = { kind: "rate_limit", bytesPerSecond: 1000 } as const;
    const forms = formsOf(
      [rule({ action, sourcePorts: [ports(53), ports(123, 124)], destinationPorts: [ports(80)] })],
      FIRST,
    );
    expect(forms).toMatchObject({ split: 1, leftOut: 0 });
    expect<object[]>(forms.rules.map(ruleToWire)).toEqual(
      [53, 123, 124].map((port) => ({
        dst: "192.0.2.1/32",
        proto: 17,
        src_port: port,
        dst_port: 80,
        action: "rate_limit",
        rate_bytes: 1000,
      })),
    );
  });

  test.each([
    [RULE_FORMS_MAX - 1, RULE_FORMS_MAX - 1],
    [RULE_FORMS_MAX, RULE_FORMS_MAX],
    [RULE_FORMS_MAX + 1, 0],
  ])("gets %d ports as %d rules", (count, expected) => {
    expect(formsOf([rule({ destinationPorts: [ports(1000, 999 + count)] })], FIRST).rules).toHaveLength(expected);
  });

  test("gets few protocols one by one, each with all of the ports", () => {
    const forms = formsOf([rule({ protocols: [ports(6), ports(17)], destinationPorts: [ports(53, 54)] })], FIRST);
    expect(forms).toMatchObject({ split: 1, leftOut: 0 });
    expect(forms.rules.map(ruleToWire)).toEqual(
      [6, 17].flatMap((proto) =>
        [53, 54].map((port) => ({ dst: "192.0.2.1/32", proto, dst_port: port, action: "discard" })),
      ),
    );
  });

  test.each([
    [RULE_FORMS_MAX, RULE_FORMS_MAX],
    [RULE_FORMS_MAX + 1, 0],
  ])("gets %d protocols as %d rules", (count, expected) => {
    expect(formsOf([rule({ protocols: [ports(50, 49 + count)] })], FIRST).rules).toHaveLength(expected);
  });

  test("gets no more rules for ports of both ends together", () => {
    const both = (count: number) => rule({ sourcePorts: [ports(1, 4)], destinationPorts: [ports(1, count)] });
    expect(formsOf([both(4)], FIRST).rules).toHaveLength(16);
    expect(formsOf([both(5)], FIRST)).toEqual({ rules: [], split: 0, leftOut: 1 });
  });

  test.each<[string, Partial<Rule>]>([
    ["a length", { packetLengths: [{ from: 100, to: 200 }] }],
    ["flags that must be absent", { protocols: exactly(6), tcpFlags: { set: 2, unset: 16 } }],
    ["no flags at all", { protocols: exactly(6), tcpFlags: { set: 0, unset: 63 } }],
    ["any flags", { protocols: exactly(6), tcpFlags: { set: 0, unset: 0 } }],
    ["all ports but one", { sourcePorts: [ports(0, 52), ports(54, 65_535)] }],
    ["port 0, which would be any", { sourcePorts: [ports(0)] }],
    ["port 0 among others", { sourcePorts: [ports(0, 3)] }],
    ["protocol 0, which would be any", { protocols: exactly(0) }],
    ["all protocols but three", { protocols: ALL_BUT_COMMON }],
    ["protocol 0 among others", { protocols: [ports(0), ports(17)] }],
    ["all but fragments, which would be anything", { fragment: false }],
  ])("gets no rule that is narrowed by %s: it would drop more than was meant", (_, changes) => {
    expect(formsOf([rule(changes)], FIRST)).toEqual({ rules: [], split: 0, leftOut: 1 });
  });
});

describe("a node that supports", () => {
  test.each<[RuleCapability, Partial<Rule>]>([
    ["port_ranges", { sourcePorts: [ports(0, 52), ports(54, 65_535)] }],
    ["port_ranges", { destinationPorts: [ports(0)] }],
    ["tcp_flags_unset", { tcpFlags: { set: 2, unset: 16 } }],
    ["tcp_flags_unset", { tcpFlags: { set: 0, unset: 63 } }],
    ["packet_length", { packetLengths: [{ from: 1, to: 2 }] }],
    ["protocol_ranges", { protocols: ALL_BUT_COMMON }],
    ["protocol_ranges", { protocols: exactly(0) }],
    ["protocol_ranges", { protocols: [ports(0, 255)] }],
  ])("%s gets the rule as it is", (capability, changes) => {
    const only = rule(changes);
    expect(formsOf([only], ruleSupportOf([capability]))).toEqual({ rules: [only], split: 0, leftOut: 0 });
    const others = RULE_CAPABILITIES.filter((other) => other !== capability);
    expect(formsOf([only], ruleSupportOf(others)).rules).not.toContain(only);
  });

  test("everything still gets no zero that would be read as anything", () => {
    expect(formsOf([rule({ fragment: false })], EVERYTHING)).toMatchObject({ leftOut: 1 });
    const zeros = rule({ protocols: exactly(0), sourcePorts: [ports(0)] });
    const [wire] = formsOf([zeros], EVERYTHING).rules.map(ruleToWire);
    expect(wire).toMatchObject({ protos: [{ from: 0, to: 0 }], src_ports: [{ from: 0, to: 0 }] });
    expect(wire).not.toHaveProperty("src_port");
    expect(wire).not.toHaveProperty("proto");
  });
});

test("the counts of several rules are added", () => {
  const rules = [rule({}), rule({ sourcePorts: [ports(1, 2)] }), rule({ packetLengths: [{ from: 1, to: 2 }] })];
  expect(formsOf(rules, FIRST)).toMatchObject({ rules: { length: 3 }, split: 1, leftOut: 1 });
});

test("the order of capabilities does not matter, and unknown ones are ignored", () => {
  const keys = [
    ["packet_length", "port_ranges"],
    ["port_ranges", "x", "packet_length", "packet_length"],
  ].map((names) => ruleSupportKey(ruleSupportOf(names)));
  expect(new Set(keys).size).toBe(1);
  expect(ruleSupportKey(ruleSupportOf(["x"]))).toBe(ruleSupportKey(FIRST));
});
