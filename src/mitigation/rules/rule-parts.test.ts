import { expect, test } from "bun:test";
import { prefix } from "../../../test/fixtures/networks.ts";
import { componentsOf, ruleProblem } from "../../bgp/flowspec-nlri.ts";
import { exactly, isInRanges, without } from "../../net/range.ts";
import { ANY_PACKET, type Rule } from "./rule.ts";
import { fittingParts } from "./rule-parts.ts";

const rule = (changes: Partial<Rule>): Rule => ({ ...ANY_PACKET, destination: prefix("192.0.2.1/32"), ...changes });

test("a rule that fits is the same object", () => {
  const one = rule({ destinationPorts: without({ from: 0, to: 65_535 }, exactly(53)) });
  expect(fittingParts(one)).toEqual([one]);
  expect(fittingParts(one)[0]).toBe(one);
});

test("ports that four services are left out of make two rules, which peers take", () => {
  const holes = [53, 443, 27_015, 30_120].flatMap(exactly);
  const parts = fittingParts(
    rule({ protocols: exactly(17), destinationPorts: without({ from: 0, to: 65_535 }, holes) }),
  );
  expect(parts).toHaveLength(2);
  expect(parts.map(ruleProblem)).toEqual([null, null]);
  for (let port = 0; port <= 65_535; port++) {
    const matching = parts.filter(({ destinationPorts }) => isInRanges(destinationPorts, port)).length;
    if (matching !== (holes.some(({ from }) => from === port) ? 0 : 1)) throw new Error(`port ${port}: ${matching}`);
  }
});

test("ranges at both ends make every pair of parts", () => {
  const ranges = without({ from: 0, to: 65_535 }, [100, 200, 300].flatMap(exactly));
  const parts = fittingParts(rule({ sourcePorts: ranges, destinationPorts: ranges }));
  expect(parts).toHaveLength(4);
  expect(
    Math.max(...parts.flatMap(componentsOf).map((part) => ("items" in part ? part.items.length : 0))),
  ).toBeLessThanOrEqual(5);
});
