/** Compares what a router matches with our FlowSpec components, by RFC 8955, with what the rule matches. */
import { expect, test } from "bun:test";
import { flow } from "../../test/fixtures/bgp/bgp.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { type PortRange, type Rule, ruleMatches, ruleText } from "../mitigation/rules/rule.ts";
import { parsePrefix, prefixContains } from "../net/prefix.ts";
import type { PacketHeader } from "../traffic/packet-header.ts";
import { type Component, componentsOf, ruleProblem } from "./flowspec-nlri.ts";

const ROUNDS = 20_000;
const HOSTS = ["203.0.113.9", "203.0.113.10", "198.51.100.7"].map(address);
const PREFIXES = ["203.0.113.9/32", "203.0.113.0/24", "198.51.100.0/24", "0.0.0.0/0"].map(prefix);
const PORTS = [0, 53, 54, 443, 1024, 65535];
const LENGTHS = [40, 60, 1500];

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
  const seed = Math.floor(Math.random() * 2 ** 32);
  const random = seededRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const maybe = <T>(make: () => T): T | null => (random() < 0.4 ? make() : null);
  const range = (values: readonly number[]): PortRange => {
    const [a, b] = [pick(values), pick(values)];
    return { from: Math.min(a, b), to: Math.max(a, b) };
  };
  const randomRule = (): Rule =>
    flow("203.0.113.0/24", {
      destination: pick(PREFIXES),
      source: maybe(() => pick(PREFIXES)),
      protocol: maybe(() => pick([1, 6, 17])),
      sourcePorts: maybe(() => [range(PORTS), range(PORTS)]) ?? [],
      destinationPorts: maybe(() => [range(PORTS)]) ?? [],
      tcpFlags: maybe(() =>
        pick([
          { set: 2, unset: 16 },
          { set: 0, unset: 18 },
          { set: 24, unset: 0 },
        ]),
      ),
      fragment: maybe(() => random() < 0.5),
      packetLength: maybe(() => {
        const { from, to } = range(LENGTHS);
        return { min: from, max: to };
      }),
    }).rule;
  const randomPacket = (): PacketHeader => {
    const protocol = pick([1, 6, 17]);
    const fragment = pick([null, null, "first", "later"] as const);
    const showsPorts = protocol !== 1 && fragment !== "later";
    return {
      source: pick(HOSTS),
      destination: pick(HOSTS),
      protocol,
      ports: showsPorts ? { source: pick(PORTS), destination: pick(PORTS) } : null,
      tcpFlags: showsPorts && protocol === 6 ? pick([2, 16, 18, 24]) : null,
      fragment,
      packetBytes: pick(LENGTHS),
    };
  };
  let matched = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const rule = randomRule();
    const packet = randomPacket();
    if (ruleProblem(rule) !== null) continue;
    const expected = ruleMatches(rule, packet);
    if (expected) matched++;
    const message = `${ruleText(rule)} and ${JSON.stringify(packet)} (seed ${seed})`;
    expect(routerMatches(componentsOf(rule), packet), message).toBe(expected);
  }
  // Otherwise the rules were too narrow to compare anything.
  expect(matched).toBeGreaterThan(ROUNDS / 100);
});
