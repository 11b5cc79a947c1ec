/** Compares what a router matches with our FlowSpec components, by RFC 8955, with what the rule matches. */
import { expect, test } from "bun:test";
import { randomFrame, randomRule } from "../../test/fixtures/dataplane/filter-cases.ts";
import { Chance, seededRandom } from "../../test/fixtures/seeded-random.ts";
import { ruleMatches } from "../mitigation/rules/match.ts";
import { ruleText } from "../mitigation/rules/rule.ts";
import { parsePrefix, prefixContains } from "../net/prefix.ts";
import { decodeHeader, type PacketHeader } from "../traffic/packet-header.ts";
import { type Component, componentsOf, ruleProblem } from "./flowspec-nlri.ts";

const ROUNDS = 2000;
const PACKETS = 500;

/** RFC 8955, section 4.2.1.1: items joined by "and" form one term, terms are joined by "or". */
function matchesItems(
  items: readonly (readonly [number, number])[],
  holds: (op: number, value: number) => boolean,
): boolean {
  const terms: boolean[] = [];
  for (const [op, value] of items) {
    const isTrue = holds(op, value);
    if ((op & 0x40) !== 0) terms.push((terms.pop() ?? true) && isTrue);
    else terms.push(isTrue);
  }
  return terms.includes(true);
}

const number = (actual: number) => (op: number, value: number) =>
  ((op & 4) !== 0 && actual < value) || ((op & 2) !== 0 && actual > value) || ((op & 1) !== 0 && actual === value);

/** RFC 8955, section 4.2.1.2. */
const bits = (actual: number) => (op: number, value: number) => {
  const isMatch = (op & 1) !== 0 ? (actual & value) === value : (actual & value) !== 0;
  return (op & 2) !== 0 ? !isMatch : isMatch;
};

const FRAGMENT_BITS = { first: 0x04, later: 0x02 } as const;

function routerMatches(components: readonly Component[], packet: PacketHeader): boolean {
  return components.every((component) => {
    if ("prefix" in component) {
      const wanted = parsePrefix(component.prefix);
      return wanted !== null && prefixContains(wanted, component.type === 1 ? packet.destination : packet.source);
    }
    const holds = field(component.type, packet);
    return holds !== null && matchesItems(component.items, holds);
  });
}

/** null: the packet has no such field. */
function field(type: number, { protocol, ports, tcpFlags, packetBytes, fragment }: PacketHeader) {
  switch (type) {
    case 3:
      return number(protocol);
    case 5:
      return ports === null ? null : number(ports.destination);
    case 6:
      return ports === null ? null : number(ports.source);
    case 9:
      return tcpFlags === null ? null : bits(tcpFlags);
    case 10:
      return number(packetBytes);
    case 12:
      return bits(fragment === null ? 0 : FRAGMENT_BITS[fragment]);
    default:
      throw new Error(`type ${type} is none of ours`);
  }
}

test("a router matches what the rule matches", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const chance = new Chance(seededRandom(seed));
  const packets = Array.from({ length: PACKETS }, () => decodeHeader(randomFrame(chance))).filter(
    (each) => each !== null,
  );
  let matched = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const rule = randomRule(chance);
    if (ruleProblem(rule) !== null) continue;
    const components = componentsOf(rule);
    for (const packet of packets) {
      const expected = ruleMatches(rule, packet);
      if (expected) matched++;
      if (routerMatches(components, packet) === expected) continue;
      throw new Error(`${ruleText(rule)} and ${JSON.stringify(packet)} (seed ${seed}): a router says ${!expected}`);
    }
  }
  // Otherwise the rules were too narrow to compare anything.
  expect(matched).toBeGreaterThan(ROUNDS);
});
