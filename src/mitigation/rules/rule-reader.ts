/**
 * Reads a rule from its wire form (RuleWire), strictly: a malformed rule is refused, since it could match too much.
 * Unknown keys are ignored; absent or zero matches anything (docs/interface.md#rule).
 */
import { type Prefix, parsePrefix, prefixCovers } from "../../net/prefix.ts";
import { exactly, type Range } from "../../net/range.ts";
import type { RuleAction } from "./action.ts";
import { ANY_MATCH, PORT_MAX, PROTOCOL_MAX, RANGES_MAX } from "./match.ts";
import type { Rule } from "./rule.ts";

/** The message starts with the key: `proto: must be …`. */
export class RuleProblem extends Error {}

type Wire = Readonly<Record<string, unknown>>;

/** The largest possible packet, including jumbograms. */
const PACKET_BYTES_MAX = 0xffff_ffff;

/**
 * @param within the banned prefix: the rule's destination must lie inside, and defaults to it.
 * Throws RuleProblem.
 */
export function readRule(value: unknown, within: Prefix): Rule {
  const wire = readObject(value, "");
  const destination = readPrefix(wire, "dst") ?? within;
  if (!prefixCovers(within, destination)) {
    throw new RuleProblem(`dst: ${destination.text} is not inside of ${within.text}`);
  }
  const source = readPrefix(wire, "src");
  if (source !== null && source.family !== destination.family) {
    throw new RuleProblem(`src: ${source.text} is of another family than ${destination.text}`);
  }
  return {
    ...ANY_MATCH,
    destination,
    source,
    protocols: readRanges(wire, { key: "proto", rangesKey: "protos", max: PROTOCOL_MAX, name: "protocols" }),
    sourcePorts: readRanges(wire, { ...PORTS, key: "src_port", rangesKey: "src_ports" }),
    destinationPorts: readRanges(wire, { ...PORTS, key: "dst_port", rangesKey: "dst_ports" }),
    tcpFlags: readFlags(wire),
    fragment: readTrue(wire, "fragment"),
    packetLengths: readLength(wire["packet_length"]),
    action: readAction(wire),
  };
}

function readPrefix(wire: Wire, key: string): Prefix | null {
  const text = wire[key];
  if (text === undefined) return null;
  const prefix = typeof text === "string" ? parsePrefix(text) : null;
  if (prefix === null) throw new RuleProblem(`${key}: must be a CIDR without host bits`);
  return prefix;
}

/** 0 if absent. */
function readWhole(wire: Wire, key: string, max: number): number {
  const value = wire[key] ?? 0;
  if (!isWhole(value, max)) throw new RuleProblem(`${key}: must be a whole number from 0 to ${max}`);
  return value;
}

function isWhole(value: unknown, max: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= max;
}

function readTrue(wire: Wire, key: string): true | null {
  const value = wire[key] ?? false;
  if (typeof value !== "boolean") throw new RuleProblem(`${key}: must be true or false`);
  return value || null;
}

interface RangesField {
  /** The key of one value; `rangesKey` is the key of ranges. */
  readonly key: string;
  readonly rangesKey: string;
  readonly max: number;
  readonly name: string;
}

const PORTS = { max: PORT_MAX, name: "ports" };

function readRanges(wire: Wire, { key, rangesKey, max, name }: RangesField): readonly Range[] {
  const value = readWhole(wire, key, max);
  const ranges = wire[rangesKey];
  if (ranges === undefined) return value === 0 ? [] : exactly(value);
  if (value !== 0) throw new RuleProblem(`${rangesKey}: goes without ${key}`);
  // An empty list would match anything, which the writer cannot have meant.
  if (!Array.isArray(ranges) || ranges.length === 0 || ranges.length > RANGES_MAX) {
    throw new RuleProblem(`${rangesKey}: must be a list of 1 to ${RANGES_MAX} ranges`);
  }
  return ranges.map((range: unknown) => {
    const { from, to } = readObject(range, rangesKey);
    if (isWhole(from, max) && isWhole(to, max) && from <= to) return { from, to };
    throw new RuleProblem(`${rangesKey}: from and to must be ${name}, in this order`);
  });
}

function readFlags(wire: Wire): Rule["tcpFlags"] {
  const set = readWhole(wire, "tcp_flags", 255);
  const unset = readWhole(wire, "tcp_flags_unset", 255);
  return set === 0 && unset === 0 ? null : { set, unset };
}

function readLength(value: unknown): Rule["packetLengths"] {
  if (value === undefined) return [];
  const { min, max } = readObject(value, "packet_length");
  if (isWhole(min, PACKET_BYTES_MAX) && isWhole(max, PACKET_BYTES_MAX) && min <= max) return [{ from: min, to: max }];
  throw new RuleProblem("packet_length: min and max must be lengths in bytes, in this order");
}

function readAction({ action, rate_bytes: rate }: Wire): RuleAction {
  if (action === "discard") return { kind: "discard" };
  if (action !== "rate_limit") throw new RuleProblem("action: must be discard or rate_limit");
  if (typeof rate !== "number" || !Number.isFinite(rate) || rate < 0) {
    throw new RuleProblem("rate_bytes: must be a number of bytes per second");
  }
  // Less than one byte per second equals a discard.
  return rate < 1 ? { kind: "discard" } : { kind: "rate_limit", bytesPerSecond: rate };
}

function readObject(value: unknown, key: string): Wire {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Wire;
  throw new RuleProblem(`${key === "" ? "" : `${key}: `}must be an object`);
}
