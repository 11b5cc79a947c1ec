/**
 * The rules of a scrub filter and an attack, in the order in which the kernel tries them. Sources prove
 * their address first, then the attack is dropped, then sources keep to their limits, and last all that is no service is
 * dropped. Pure.
 */
import { addressesIn, type Prefix } from "../../net/prefix.ts";
import { exactly, isInRanges, onlyValue, type Range, withoutValue } from "../../net/range.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { KernelAction } from "../rules/action.ts";
import { type Match, PORT_MAX, RANGES_MAX } from "../rules/match.ts";
import { type FilterRule, type Rule, wideRule } from "../rules/rule.ts";
import { DNS_PORT, type ScrubFilter, type Service, type SourceLimits } from "./scrub-filter.ts";

/** Why a rule drops packets. */
export const DROP_REASONS = ["rule", "blocked_set", "unvalidated", "unasked", "source_limit", "no_service"] as const;
export type DropReason = (typeof DROP_REASONS)[number];

export interface ScrubRule {
  readonly rule: FilterRule;
  readonly reason: DropReason;
}

const { tcp: TCP, udp: UDP } = IP_PROTOCOL;
/** Addresses of a prefix that count for the rate to all of them together. */
const ADDRESSES_MAX = 100;
const SYN = 2;
const ACK = 16;

export function scrubRules(prefix: Prefix, filter: ScrubFilter, attack: readonly Rule[]): ScrubRule[] {
  return [
    ...blocked(prefix, filter),
    ...validation(prefix, filter),
    ...questions(prefix, filter, attack),
    ...rulesBeside(filter, attack).map((rule) => againstAttack(rule, filter)),
    // Source limits come last, so that spoofed packets already dropped do not use up a real user's limit.
    ...limits(prefix, filter.sourceLimits),
    ...services(prefix, filter.services),
  ];
}

function blocked(prefix: Prefix, { blockedSets: inSets = [] }: ScrubFilter): ScrubRule[] {
  if (inSets.length === 0) return [];
  return [{ rule: { ...towards(prefix), inSets }, reason: "blocked_set" }];
}

/** Where all that is no service is dropped, so is what an attack's rule lets through. */
function againstAttack(rule: Rule, { services }: ScrubFilter): ScrubRule {
  const { action } = rule;
  if (services === null || action.kind === "discard") return { rule, reason: "rule" };
  const limit = { kind: "limit", packetsPerSecond: 0, bytesPerSecond: Math.max(1, action.bytesPerSecond) } as const;
  return { rule: { ...rule, action: limit }, reason: "rule" };
}

/**
 * The rules of the attack beside the filter. Those that match TCP are left out where sources of TCP prove their address,
 * and those that match DNS queries likewise: they would drop packets of sources that did so, too. So are those that
 * match answers, if only requested answers pass. The filter is about what comes in, so that rules against
 * what goes out stay.
 */
export function rulesBeside(filter: ScrubFilter, attack: readonly Rule[]): readonly Rule[] {
  return besideTcp(filter, attack).filter(
    (rule) => !(filter.dns && isOfQueries(rule)) && !(filter.askedOnly && isOfAnswers(rule)),
  );
}

function besideTcp({ tcp }: ScrubFilter, attack: readonly Rule[]): readonly Rule[] {
  return tcp === null ? attack : attack.flatMap(withoutTcp);
}

/** A rule for any protocol becomes those for the others that floods use, but for one of fragments, which show no TCP. */
function withoutTcp(rule: Rule): readonly Rule[] {
  const { destination, protocols, fragment, tcpFlags, sourcePorts, destinationPorts } = rule;
  if (destination === null || !isInRanges(protocols, TCP)) return [rule];
  if (onlyValue(protocols) === TCP || tcpFlags !== null) return [];
  if (protocols.length > 0) return [{ ...rule, protocols: withoutValue(protocols, TCP) }];
  if (fragment === true) return [rule];
  const hasPorts = sourcePorts.length + destinationPorts.length > 0;
  const icmp = destination.family === 4 ? IP_PROTOCOL.icmp : IP_PROTOCOL.icmpv6;
  return (hasPorts ? [UDP] : [UDP, icmp]).map((each) => ({ ...rule, protocols: exactly(each) }));
}

function* validation(prefix: Prefix, filter: ScrubFilter): Generator<ScrubRule> {
  const { tcp, learnsTcp = false, dns } = filter;
  const learnedBytesPerSecond = filter.learnedBytesPerSecond * Math.min(addressesIn(prefix), ADDRESSES_MAX);
  const reason = "unvalidated";
  // The standing rule that does so otherwise may not be reached.
  if (learnsTcp) yield does(towards(prefix, TCP), { kind: "learn" }, reason);
  if (dns && tcp !== "reset") {
    // A client that retries over TCP proves its address there. Only reset mode is accepted: the transparent proof can be
    // triggered by a third party, who would make the victim answer a forged address.
    const rule = { ...towards(prefix, TCP), destinationPorts: DNS_PORTS };
    yield does(rule, { kind: "validate_reset", learnedBytesPerSecond }, reason);
  }
  if (tcp !== null) {
    yield does(towards(prefix, TCP), { kind: `validate_${tcp}`, learnedBytesPerSecond }, reason);
  }
  if (dns) {
    yield does({ ...towards(prefix, UDP), destinationPorts: DNS_PORTS }, { kind: "validate_dns" }, reason);
  }
}

function* limits(prefix: Prefix, { packets, bytes, connections, ...lengths }: SourceLimits): Generator<ScrubRule> {
  // The kernel counts an IPv4 address in its mapped form.
  const prefixLength = prefix.family === 4 ? 96 + lengths.ipv4Length : lengths.ipv6Length;
  const none = { kind: "limit_source", packetsPerSecond: 0, bytesPerSecond: 0, prefixLength } as const;
  const reason = "source_limit";
  if (connections > 0) {
    const rule = { ...towards(prefix, TCP), tcpFlags: { set: SYN, unset: ACK } };
    yield does(rule, { ...none, packetsPerSecond: connections }, reason);
  }
  if (packets > 0) yield does(towards(prefix), { ...none, packetsPerSecond: packets }, reason);
  if (bytes > 0) yield does(towards(prefix), { ...none, bytesPerSecond: bytes }, reason);
}

/**
 * Answers that the attack's rules match pass only if the victim requested them: exactly those packets. Packets from the
 * victim's service ports are responses and are not recorded as requests; otherwise an attacker could make the victim
 * "ask" any host.
 */
function* questions(prefix: Prefix, filter: ScrubFilter, attack: readonly Rule[]): Generator<ScrubRule> {
  if (!filter.askedOnly) return;
  const answers = besideTcp(filter, attack).filter(isOfAnswers);
  if (answers.length === 0) return;
  const outgoing: Rule = { ...towards(prefix, UDP), destination: null, source: prefix };
  const asked = chunks(merged(answers.flatMap(({ sourcePorts }) => sourcePorts)));
  for (const destinationPorts of asked) {
    for (const sourcePorts of chunks(askingPorts(filter.services))) {
      yield does({ ...outgoing, sourcePorts, destinationPorts }, { kind: "learn_question" }, "unasked");
    }
  }
  for (const rule of answers) yield does(rule, { kind: "require_question" }, "unasked");
}

/** The victim's ports but those of its services over UDP; empty: all, also of a service at any port. */
function askingPorts(services: ScrubFilter["services"]): readonly Range[] {
  const serving = (services ?? []).filter(({ protocol, sourcePorts }) => protocol === UDP && sourcePorts.length === 0);
  const ports = serving.flatMap((service) => service.ports);
  return ports.length === 0 ? [] : others(merged(ports));
}

function* services(prefix: Prefix, wanted: readonly Service[] | null): Generator<ScrubRule> {
  if (wanted === null) return;
  const reason = "no_service";
  const other = prefix.family === 4 ? IP_PROTOCOL.icmpv6 : IP_PROTOCOL.icmp;
  for (const { protocol, ports, sourcePorts, packetsPerSecond } of wanted) {
    if (protocol === other) continue;
    for (const destinationPorts of chunks(ports)) {
      for (const from of chunks(sourcePorts)) {
        const rule = { ...towards(prefix, protocol), destinationPorts, sourcePorts: from };
        if (packetsPerSecond !== undefined) {
          yield does(rule, { kind: "limit_destination", packetsPerSecond }, reason);
          // A sender that spreads packets over many addresses would stay below each of these limits.
          const most = packetsPerSecond * ADDRESSES_MAX;
          const ofAll = { kind: "limit", packetsPerSecond: most, bytesPerSecond: 0 } as const;
          if (addressesIn(prefix) > ADDRESSES_MAX) yield does(rule, ofAll, reason);
        }
        yield does(rule, { kind: "pass" }, reason);
      }
    }
  }
  yield { rule: towards(prefix), reason };
}

const DNS_PORTS = exactly(DNS_PORT);

function isOfQueries({ destination, protocols, destinationPorts }: Rule): boolean {
  return destination !== null && onlyValue(protocols) === UDP && onlyValue(destinationPorts) === DNS_PORT;
}

function isOfAnswers({ destination, protocols, sourcePorts }: Rule): boolean {
  return destination !== null && onlyValue(protocols) === UDP && sourcePorts.length > 0;
}

function does(match: Match, action: KernelAction, reason: DropReason): ScrubRule {
  return { rule: { ...match, action }, reason };
}

function towards(prefix: Prefix, protocol: number | null = null): Rule {
  return { ...wideRule(prefix, { kind: "discard" }), protocols: protocol === null ? [] : exactly(protocol) };
}

/** As many as one rule holds. */
function chunks(ranges: readonly Range[]): (readonly Range[])[] {
  if (ranges.length <= RANGES_MAX) return [ranges];
  const count = Math.ceil(ranges.length / RANGES_MAX);
  return Array.from({ length: count }, (_, i) => ranges.slice(i * RANGES_MAX, (i + 1) * RANGES_MAX));
}

/** Without overlaps, in order. */
function merged(ranges: readonly Range[]): readonly Range[] {
  const all: Range[] = [];
  for (const { from, to } of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = all.at(-1);
    if (last === undefined || from > last.to + 1) all.push({ from, to });
    else all[all.length - 1] = { from: last.from, to: Math.max(last.to, to) };
  }
  return all;
}

/** All other ports. */
function others(ranges: readonly Range[]): readonly Range[] {
  const starts = [0, ...ranges.map(({ to }) => to + 1)];
  const ends = [...ranges.map(({ from }) => from - 1), PORT_MAX];
  return starts.map((from, i) => ({ from, to: ends[i] ?? PORT_MAX })).filter(({ from, to }) => from <= to);
}
