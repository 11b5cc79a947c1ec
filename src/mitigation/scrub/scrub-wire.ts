/**
 * A scrub filter in a rule document (docs/interface.md#rule-document-scrub), written, and read strictly. Absent or zero
 * does nothing; unknown keys are ignored. Rules that need both directions are not in it, since a node sees one.
 */

import { Type } from "@sinclair/typebox";
import type { Prefix } from "../../net/prefix.ts";
import { exactly, onlyValue } from "../../net/range.ts";
import { oneOf } from "../../schema/schema-forms.ts";
import { type RuleWire, ruleToWire, wideRule } from "../rules/rule.ts";
import { RuleProblem, readRule } from "../rules/rule-reader.ts";
import { NO_SOURCE_LIMITS, type ScrubFilter, type Service, type SourceLimits } from "./scrub-filter.ts";

export interface ScrubWire {
  readonly tcp?: "reset" | "transparent";
  readonly dns?: true;
  readonly learned_bytes?: number;
  readonly source_packets?: number;
  readonly source_bytes?: number;
  readonly source_connections?: number;
  readonly source_length?: number;
  readonly services?: readonly ServiceWire[];
  readonly dry_run?: true;
}
interface ServiceWire extends Pick<RuleWire, "proto" | "src_port" | "dst_port" | "src_ports" | "dst_ports"> {
  /** Per second. */
  readonly packets?: number;
}

/** Per second; the kernel's limits cannot represent a lower rate. */
const LEAST = 1;
const amount = Type.Optional(Type.Number({ minimum: LEAST }));

export const ScrubWire = Type.Unsafe<ScrubWire>(
  Type.Object({
    tcp: Type.Optional(oneOf("reset", "transparent")),
    dns: Type.Optional(Type.Literal(true)),
    learned_bytes: amount,
    source_packets: amount,
    source_bytes: amount,
    source_connections: amount,
    source_length: Type.Optional(Type.Integer({ minimum: 1, maximum: 128 })),
    services: Type.Optional(Type.Array(Type.Object({}))),
    dry_run: Type.Optional(Type.Literal(true)),
  }),
);

export function scrubToWire({ family }: Prefix, filter: ScrubFilter): ScrubWire {
  const { tcp, dns, learnedBytesPerSecond: learned, services, countsOnly } = filter;
  const { packets, bytes, connections, ipv4Length, ipv6Length } = filter.sourceLimits;
  const isLimited = packets + bytes + connections > 0;
  return {
    ...(tcp === null ? {} : { tcp }),
    ...(dns ? { dns } : {}),
    ...(learned === 0 ? {} : { learned_bytes: learned }),
    ...(packets === 0 ? {} : { source_packets: packets }),
    ...(bytes === 0 ? {} : { source_bytes: bytes }),
    ...(connections === 0 ? {} : { source_connections: connections }),
    ...(isLimited ? { source_length: family === 4 ? ipv4Length : ipv6Length } : {}),
    ...(services === null ? {} : { services: services.map(serviceToWire) }),
    ...(countsOnly ? { dry_run: countsOnly } : {}),
  };
}

function serviceToWire({ protocol, ports, sourcePorts, packetsPerSecond: packets }: Service): ServiceWire {
  const rule = {
    ...wideRule(ANY, { kind: "discard" }),
    protocols: exactly(protocol),
    destinationPorts: ports,
    sourcePorts,
  };
  const { action: _action, ...wire } = ruleToWire({ ...rule, destination: null });
  return { ...wire, ...(packets === undefined ? {} : { packets }) };
}

/** Not written. */
const ANY = { text: "0.0.0.0/0" } as Prefix;

type Wire = Readonly<Record<string, unknown>>;

/** @param within the banned prefix. Throws RuleProblem: `tcp: must be …`. */
export function readScrub(value: unknown, within: Prefix): ScrubFilter {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new RuleProblem("must be an object");
  const wire = value as Wire;
  return {
    tcp: readTcp(wire["tcp"]),
    dns: readFlag(wire, "dns"),
    askedOnly: false,
    learnedBytesPerSecond: readAmount(wire, "learned_bytes"),
    sourceLimits: readLimits(wire, within),
    services: readServices(wire["services"], within),
    countsOnly: readFlag(wire, "dry_run"),
  };
}

function readTcp(value: unknown): ScrubFilter["tcp"] {
  if (value === undefined) return null;
  if (value === "reset" || value === "transparent") return value;
  throw new RuleProblem("tcp: must be reset or transparent");
}

function readFlag(wire: Wire, key: string): boolean {
  const value = wire[key] ?? false;
  if (typeof value !== "boolean") throw new RuleProblem(`${key}: must be true or false`);
  return value;
}

function readAmount(wire: Wire, key: string): number {
  const value = wire[key] ?? 0;
  if (typeof value === "number" && Number.isFinite(value) && (value === 0 || value >= LEAST)) return value;
  throw new RuleProblem(`${key}: must be a number of at least ${LEAST} a second`);
}

function readLimits(wire: Wire, { family }: Prefix): SourceLimits {
  const whole = family === 4 ? 32 : 64;
  const length = wire["source_length"] ?? whole;
  const longest = family === 4 ? 32 : 128;
  if (typeof length !== "number" || !Number.isInteger(length) || length < 1 || length > longest) {
    throw new RuleProblem(`source_length: must be a whole number from 1 to ${longest}`);
  }
  return {
    ...NO_SOURCE_LIMITS,
    packets: readAmount(wire, "source_packets"),
    bytes: readAmount(wire, "source_bytes"),
    connections: readAmount(wire, "source_connections"),
    [family === 4 ? "ipv4Length" : "ipv6Length"]: length,
  };
}

function readServices(value: unknown, within: Prefix): ScrubFilter["services"] {
  if (value === undefined) return null;
  // An empty list would drop everything, which the writer cannot have meant.
  if (!Array.isArray(value) || value.length === 0) throw new RuleProblem("services: must be a list with entries");
  return value.map((service: unknown) => {
    const given = typeof service === "object" && service !== null ? service : {};
    const { protocols, sourcePorts, destinationPorts: ports } = readRule({ ...given, action: "discard" }, within);
    const protocol = onlyValue(protocols);
    if (protocol === null) throw new RuleProblem("services: each must have proto");
    const packetsPerSecond = readAmount(given as Wire, "packets");
    return { protocol, ports, sourcePorts, ...(packetsPerSecond === 0 ? {} : { packetsPerSecond }) };
  });
}
