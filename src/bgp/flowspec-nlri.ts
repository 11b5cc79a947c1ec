/** The match of a rule as FlowSpec components (RFC 8955, IPv6: RFC 8956). Independent of the action. */
import { isOfKernelOnly, PORT_MAX, PROTOCOL_MAX } from "../mitigation/rules/match.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import { type Prefix, parsePrefix } from "../net/prefix.ts";
import type { Range } from "../net/range.ts";
import { cachedByKey } from "./encoded-message.ts";

const TYPE = {
  destination: 1,
  source: 2,
  protocol: 3,
  destinationPort: 5,
  sourcePort: 6,
  tcpFlags: 9,
  packetLength: 10,
  fragment: 12,
} as const;

/** Items of one component are combined with OR, unless one has the AND bit. The speaker sets bits 7, 5 and 4. */
const AND = 0x40;
const NUMBER = { equal: 0x01, atLeast: 0x03, atMost: 0x05 } as const;
/** Without a match or NOT bit: any of the value's bits is set. */
const BITS = { any: 0x00, all: 0x01, none: 0x02 } as const;
const OPERATOR_MASK = 0x47;

/** A later fragment, or the first one: together, any fragment. */
const FRAGMENT_BITS = 0x02 | 0x04;

interface PrefixComponent {
  readonly type: number;
  readonly prefix: string;
}

interface ItemsComponent {
  readonly type: number;
  /** Operator and value. */
  readonly items: readonly (readonly [number, number])[];
}

export type Component = PrefixComponent | ItemsComponent;

/**
 * One BGP implementation resets the session above this number. It also keeps every rule well below the size from which
 * its length takes two bytes, which makes all peers reset the session.
 */
const ITEMS_MAX = 5;
const LENGTH_MAX = 0xffff;

/** Sorted by type, as the RFC requires. Made once of a rule, for its key, its checks and its encoding. */
export const componentsOf = cachedByKey((rule: Rule): readonly Component[] => {
  const { destination, source, protocols, sourcePorts, destinationPorts, tcpFlags, fragment, packetLengths } = rule;
  const components: Component[] = [];
  if (destination !== null) components.push({ type: TYPE.destination, prefix: destination.text });
  if (source !== null) components.push({ type: TYPE.source, prefix: source.text });
  const add = (component: ItemsComponent) => {
    if (component.items.length > 0) components.push(component);
  };
  add(rangesComponent(TYPE.protocol, protocols, PROTOCOL_MAX));
  add(rangesComponent(TYPE.destinationPort, destinationPorts, PORT_MAX));
  add(rangesComponent(TYPE.sourcePort, sourcePorts, PORT_MAX));
  if (tcpFlags !== null) add({ type: TYPE.tcpFlags, items: flagItems(tcpFlags) });
  add(rangesComponent(TYPE.packetLength, packetLengths, LENGTH_MAX));
  if (fragment !== null) add({ type: TYPE.fragment, items: [[fragment ? BITS.any : BITS.none, FRAGMENT_BITS]] });
  return components;
});

/** By type and ranges. Equal ones are one object, which is encoded once: most rules of an attack differ in the prefix alone. */
const shared = new Map<string, ItemsComponent>();
const SHARED_MAX = 1024;

/** @param max the largest value of the field: a range that ends there takes one item. */
function rangesComponent(type: number, ranges: readonly Range[], max: number): ItemsComponent {
  let text = String(type);
  for (const { from, to } of ranges) text += ` ${from}-${to}`;
  const known = shared.get(text);
  if (known !== undefined) return known;
  const component = { type, items: ranges.flatMap((range) => rangeItems(range, max)) };
  if (shared.size >= SHARED_MAX) shared.clear();
  shared.set(text, component);
  return component;
}

function rangeItems({ from, to }: Range, max: number): [number, number][] {
  if (from === to) return [[NUMBER.equal, from]];
  if (to === max) return [[NUMBER.atLeast, from]];
  if (from === 0) return [[NUMBER.atMost, to]];
  return [
    [NUMBER.atLeast, from],
    [AND | NUMBER.atMost, to],
  ];
}

function flagItems({ set, unset }: { set: number; unset: number }): [number, number][] {
  const items: [number, number][] = [];
  if (set !== 0) items.push([BITS.all, set]);
  if (unset !== 0) items.push([items.length === 0 ? BITS.none : AND | BITS.none, unset]);
  return items;
}

/** Why this rule must not be sent, or null. GoBGP does not check it, and peers would reset the session. */
export function ruleProblem(rule: Rule): string | null {
  const { destination, source, protocols, sourcePorts, destinationPorts, tcpFlags, packetLengths, action } = rule;
  const invalid = (destination && prefixProblem(destination)) ?? (source && prefixProblem(source));
  if (invalid !== null) return invalid;
  if (destination === null && source === null) return "a rule without destination and source";
  if (destination !== null && source !== null && destination.family !== source.family)
    return "source and destination of two families";
  if (!areRanges(protocols, PROTOCOL_MAX)) return "invalid protocol";
  if (!areRanges(sourcePorts, PORT_MAX) || !areRanges(destinationPorts, PORT_MAX)) return "invalid port range";
  if (tcpFlags !== null && !(isWhole(tcpFlags.set, 0, 255) && isWhole(tcpFlags.unset, 0, 255)))
    return "invalid TCP flags";
  // No component matches packets that merely have flags; without a component the rule would match all other packets
  // too.
  if (tcpFlags?.set === 0 && tcpFlags.unset === 0) return "TCP flags that ask for no flag";
  if (!areRanges(packetLengths, LENGTH_MAX)) return "invalid packet length";
  if (isOfKernelOnly(rule)) return "a match that FlowSpec cannot express";
  if (action.kind === "rate_limit" && !(action.bytesPerSecond > 0 && action.bytesPerSecond < Infinity)) {
    return `invalid rate ${action.bytesPerSecond}`;
  }
  const components = componentsOf(rule);
  if (components.some((component) => "items" in component && component.items.length > ITEMS_MAX)) {
    return `more than ${ITEMS_MAX} values in a field`;
  }
  return null;
}

/** Why this prefix must not be sent, or null. */
export function prefixProblem({ text }: Prefix): string | null {
  return parsePrefix(text)?.text === text ? null : `invalid prefix ${text}`;
}

function areRanges(ranges: readonly Range[], max: number): boolean {
  return ranges.every(({ from, to }) => isWhole(from, 0, max) && isWhole(to, from, max));
}

function isWhole(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && min <= value && value <= max;
}

/** Removes the speaker's bits from components it returned, for comparison with componentsOf(). */
export function withoutSpeakerBits(components: readonly Component[]): readonly Component[] {
  return components.map((component) => {
    if ("prefix" in component) return component;
    return { type: component.type, items: component.items.map(([op, value]) => [op & OPERATOR_MASK, value]) };
  });
}
