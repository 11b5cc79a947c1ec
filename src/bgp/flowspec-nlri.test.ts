import { describe, expect, test } from "bun:test";
import { flow } from "../../test/fixtures/bgp/bgp.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import { exactly, type Range } from "../net/range.ts";
import { type Component, componentsOf, ruleProblem, withoutSpeakerBits } from "./flowspec-nlri.ts";
import { keyOf, routeProblem } from "./route-path.ts";

const V4 = "203.0.113.9/32";
const V6 = "2001:db8::9/128";
const rule = (changes: Partial<Rule> = {}, text = V4): Rule => flow(text, changes).rule;
const port = (from: number, to = from): Range => ({ from, to });

describe("components", () => {
  test("come by their type, whatever the rule has", () => {
    const all = rule({
      source: prefix("198.51.100.0/24"),
      protocols: exactly(6),
      sourcePorts: [port(1)],
      destinationPorts: [port(2)],
      tcpFlags: { set: 2, unset: 16 },
      fragment: true,
      packetLengths: [{ from: 40, to: 60 }],
    });
    expect(componentsOf(all).map(({ type }) => type)).toEqual([1, 2, 3, 5, 6, 9, 10, 12]);
  });

  test("are made once of a rule, and those of equal ranges are one object, which is encoded once", () => {
    const [one, other] = [rule({ sourcePorts: [port(53)] }), rule({ sourcePorts: [port(53)] }, "203.0.113.10/32")];
    expect(componentsOf(one)).toBe(componentsOf(one));
    expect(componentsOf(other)[1]).toBe(componentsOf(one)[1] as Component);
    expect(componentsOf(rule({ destinationPorts: [port(53)] }))[1]).not.toBe(componentsOf(one)[1] as Component);
  });

  test.each<[Range, readonly (readonly [number, number])[]]>([
    [port(53), [[0x01, 53]]],
    [
      port(10, 20),
      [
        [0x03, 10],
        [0x45, 20],
      ],
    ],
    [port(444, 65535), [[0x03, 444]]],
    [port(0, 52), [[0x05, 52]]],
    [port(0, 65535), [[0x03, 0]]],
  ])("a range of %j is %j", (range, items) => {
    expect(componentsOf(rule({ sourcePorts: [range] }))[1]).toEqual({ type: 6, items });
  });

  test.each<[Rule["protocols"], readonly (readonly [number, number])[]]>([
    [exactly(0), [[0x01, 0]]],
    [[port(0, 5)], [[0x05, 5]]],
    [
      [port(2, 5), port(7, 16), port(18, 255)],
      [
        [0x03, 2],
        [0x45, 5],
        [0x03, 7],
        [0x45, 16],
        [0x03, 18],
      ],
    ],
  ])("protocols of %j are %j", (protocols, items) => {
    expect(componentsOf(rule({ protocols }))[1]).toEqual({ type: 3, items });
  });

  test.each<[Rule["tcpFlags"], readonly (readonly [number, number])[]]>([
    [{ set: 2, unset: 0 }, [[0x01, 2]]],
    [{ set: 0, unset: 18 }, [[0x02, 18]]],
    // Of congestion: ECE and CWR. NS is in the byte before, which a rule leaves open.
    [{ set: 0x40, unset: 0 }, [[0x01, 0x40]]],
    [
      { set: 0x80, unset: 0x7f },
      [
        [0x01, 0x80],
        [0x42, 0x7f],
      ],
    ],
    [
      { set: 2, unset: 16 },
      [
        [0x01, 2],
        [0x42, 16],
      ],
    ],
  ])("flags of %j are %j", (tcpFlags, items) => {
    expect(componentsOf(rule({ tcpFlags }))[1]).toEqual({ type: 9, items });
  });

  test("are the same without the bits that the speaker sets", () => {
    const sent = componentsOf(
      rule({ protocols: exactly(17), sourcePorts: [port(53), port(100, 200)], fragment: false }),
    );
    const listed = sent.map((component) => {
      if ("prefix" in component) return component;
      const last = component.items.length - 1;
      return {
        ...component,
        items: component.items.map(([op, value], i) => [op | (i === last ? 0xb0 : 0x10), value] as const),
      };
    });
    expect(listed).not.toEqual([...sent]);
    expect(withoutSpeakerBits(listed)).toEqual(sent);
  });
});

describe("a rule is sent", () => {
  test.each([
    ["that names its host alone", rule()],
    ["with five values in a field", rule({ sourcePorts: [port(1), port(2), port(3), port(4, 5)] })],
    ["with all protocols but three", rule({ protocols: [port(2, 5), port(7, 16), port(18, 255)] })],
    [
      "with the highest values",
      rule({ protocols: exactly(255), destinationPorts: [port(65535)], tcpFlags: { set: 255, unset: 0 } }),
    ],
    ["for what a host sends", rule({ destination: null, source: prefix(V4) })],
  ])("%s", (_, good) => {
    expect(ruleProblem(good)).toBeNull();
  });

  test.each([
    ["a rule without destination and source", rule({ destination: null })],
    ["invalid prefix 203.0.113.9/24", rule({ destination: { ...prefix(V4), text: "203.0.113.9/24" } })],
    ["source and destination of two families", rule({ source: prefix(V6) })],
    ["invalid protocol", rule({ protocols: exactly(256) })],
    ["invalid protocol", rule({ protocols: [port(6), port(9, 8)] })],
    ["more than 5 values in a field", rule({ protocols: [port(0), port(2, 5), port(7, 16), port(18, 255)] })],
    ["invalid port range", rule({ sourcePorts: [port(2, 1)] })],
    ["invalid port range", rule({ destinationPorts: [port(0, 65536)] })],
    ["invalid TCP flags", rule({ tcpFlags: { set: 256, unset: 0 } })],
    ["TCP flags that ask for no flag", rule({ tcpFlags: { set: 0, unset: 0 } })],
    ["invalid packet length", rule({ packetLengths: [{ from: 10, to: 9 }] })],
    ["invalid rate 0", rule({ action: { kind: "rate_limit", bytesPerSecond: 0 } })],
    ["invalid rate Infinity", rule({ action: { kind: "rate_limit", bytesPerSecond: Infinity } })],
    ["more than 5 values in a field", rule({ sourcePorts: [port(1, 2), port(3, 4), port(6, 7)] })],
  ])("never with %s", (problem, bad) => {
    expect(ruleProblem(bad)).toBe(problem);
  });

  test("for what a host sends to another", () => {
    expect(routeProblem(flow(V4, { source: prefix(V4), destination: prefix("198.51.100.1/32") }))).toBeNull();
  });

  test("never for another prefix than its route's", () => {
    expect(routeProblem({ ...flow(V4), prefix: prefix("203.0.113.8/32") })).toBe("the rule is not for 203.0.113.8/32");
    const elsewhere = flow(V4, { source: prefix("198.51.100.1/32"), destination: prefix("198.51.100.2/32") });
    expect(routeProblem(elsewhere)).toBe(`the rule is not for ${V4}`);
  });
});

test("rules of one match have one key, whatever is done to the packets", () => {
  const limited = flow(V4, { action: { kind: "rate_limit", bytesPerSecond: 1 } });
  expect(keyOf(limited)).toBe(keyOf(flow(V4)));
  expect(keyOf(flow(V4, { protocols: exactly(6) }))).not.toBe(keyOf(flow(V4)));
  expect(keyOf(flow("203.0.113.9/32"))).not.toBe(keyOf(flow(V6)));
});
