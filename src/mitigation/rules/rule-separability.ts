/** Whether rules separate an attack from users, by what is known of the users. Pure. */

import type { IpAddress } from "../../net/address.ts";
import { onlyValue } from "../../net/range.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import { SEPARABLE_USERS_MAX, type Separability } from "../separability.ts";
import type { SeparatedTraffic } from "./attack-packets.ts";
import { canMatchAny, servedOf } from "./configured-services.ts";
import { matchesOnlyDestination, ruleMatches } from "./match.ts";
import type { Rule } from "./rule.ts";
import { PROFILE_PACKETS_MIN } from "./rule-bounds.ts";
import { LENGTH_WIDTH_MAX } from "./rule-fields.ts";
import type { SeenTraffic } from "./seen-traffic.ts";
import { isProfiled } from "./unusual-packets.ts";
import { UsersAtRisk } from "./users-at-risk.ts";
import { type WeightedPacket, weightOf } from "./weighted-packet.ts";

/** The share of the matched packets that must be such as no user sends, for all of them to be of the attack. */
const NEVER_SHARE_MIN = 0.8;

interface JudgedRules {
  readonly separability: Separability;
  /** The risk of each rule, in the order of the rules. */
  readonly atRisk: readonly RuleRisk[];
}

export interface RuleRisk {
  /** The share of users that the rule matches; 0 where that is known to be none. */
  readonly share: number;
  /** No packet that was seen says so: what users send is not known. */
  readonly isGuess: boolean;
}

export function judgedRules(rules: readonly Rule[], traffic: SeparatedTraffic, seen: SeenTraffic): JudgedRules {
  const users = new UsersAtRisk(traffic.users);
  const hasProfile = isProfiled(seen);
  const services = seen.direction === "incoming" ? (seen.services ?? null) : null;
  const matches = rules.map((rule): RuleMatch => {
    const packets = traffic.all.filter(({ header }) => ruleMatches(rule, header));
    const isNever = seen.direction === "incoming" && shareNever(packets) >= NEVER_SHARE_MIN;
    return { rule, packets, isNever, risk: matchesOnlyDestination(rule) ? 1 : users.matched(rule) };
  });
  // Where users are known, which rules are needed says nothing more.
  const needed = hasProfile ? new Set() : neededOf(matches, traffic);
  const atRisk = matches.map((match): RuleRisk => {
    const { rule, packets, isNever, risk } = match;
    if (hasProfile || (isNever && risk <= SEPARABLE_USERS_MAX)) return { share: risk, isGuess: false };
    const seenShare = Math.max(risk, shareOfMildSources(packets));
    const ofAttack = weightOf(packets) / (weightOf(traffic.attack) || 1);
    const isUnknown = !needed.has(match) || isVague(rule, ofAttack) || isAtService(rule, users, services);
    const isGuess = isUnknown && seenShare < GUESSED_SHARE;
    return { share: isGuess ? GUESSED_SHARE : seenShare, isGuess };
  });
  const usersAtRisk = Math.min(
    1,
    atRisk.reduce((sum, { share }) => sum + share, 0),
  );
  const areSpared = usersAtRisk <= SEPARABLE_USERS_MAX;
  // Users probably send to the port of a service, but that is not known.
  const isKnown =
    traffic.users.seen.length >= PROFILE_PACKETS_MIN &&
    atRisk.some(({ share, isGuess }) => !isGuess && share > SEPARABLE_USERS_MAX);
  const matched = traffic.all.filter(({ header }) => rules.some((rule) => ruleMatches(rule, header)));
  if (areSpared && seen.direction === "incoming" && shareNever(matched) >= NEVER_SHARE_MIN)
    return { atRisk, separability: { verdict: "yes", usersAtRisk, estimatedBy: "protocol" } };
  if (hasProfile)
    return { atRisk, separability: { verdict: areSpared ? "yes" : "no", usersAtRisk, estimatedBy: "profile" } };
  const isBesideServices = services !== null && !rules.some((rule) => canMatchAny(rule, servedOf(services)));
  if (areSpared && isBesideServices)
    return { atRisk, separability: { verdict: "yes", usersAtRisk, estimatedBy: "configuration" } };
  const verdict = !areSpared && isKnown ? "no" : "unknown";
  return { atRisk, separability: { verdict, usersAtRisk, estimatedBy: "sample" } };
}

interface RuleMatch {
  readonly rule: Rule;
  readonly packets: readonly WeightedPacket[];
  /** Hardly any of them are such as users send. */
  readonly isNever: boolean;
  readonly risk: number;
}

/** Those without which too much is left, the largest first: what the others match may be of users alone. */
function neededOf(matches: readonly RuleMatch[], { all, mostLeft }: SeparatedTraffic): ReadonlySet<RuleMatch> {
  const needed = new Set(matches.filter(({ isNever }) => isNever));
  let left = all.filter(({ header }) => !needed.values().some(({ rule }) => ruleMatches(rule, header)));
  for (const match of matches.toSorted((a, b) => weightOf(b.packets) - weightOf(a.packets))) {
    if (weightOf(left) <= mostLeft) break;
    needed.add(match);
    left = left.filter(({ header }) => !ruleMatches(match.rule, header));
  }
  return needed;
}

function shareNever(matched: readonly WeightedPacket[]): number {
  return weightOf(matched.filter(({ header }) => header.isNever)) / (weightOf(matched) || 1);
}

/** Ports of well-known services: users of a host that is attacked there probably send to them, too (IANA). */
const SERVICE_PORTS: ReadonlySet<number> = new Set([
  ...[22, 25, 53, 80, 110, 123, 143, 443, 465, 500, 587, 853, 993, 995, 1194, 3389, 3478, 4500, 5060, 5061, 8080, 8443],
  ...[25565, 27015, 30120, 51820],
]);
/** The share of its users' traffic to a service's port, if nothing else is known. */
const GUESSED_SHARE = 0.3;
const NEIGHBORS_MIN = 8;

/** Protocols of tunnels: users of a host that is attacked with one probably have such tunnels, too. */
const TUNNELS: ReadonlySet<number> = new Set([
  ...[IP_PROTOCOL.gre, IP_PROTOCOL.esp, IP_PROTOCOL.ah],
  ...[IP_PROTOCOL.ipip, IP_PROTOCOL.ipv6],
]);

/** The share of an attack's packets within a range of lengths that is narrow enough to be one. */
const LENGTH_SHARE_MIN = 0.3;

/**
 * Whether the rule matches UDP without any value that the packets of the attack have in common.
 * @param share of the attack that it matches.
 */
function isVague(
  { protocols, sourcePorts, destinationPorts, packetLengths: [length], fragment }: Rule,
  share: number,
): boolean {
  const hasPorts = [sourcePorts, destinationPorts].some((ranges) => ranges.some(({ from, to }) => from === to));
  const width = length === undefined ? Number.POSITIVE_INFINITY : length.to - length.from;
  const hasLength = width === 0 || (width <= LENGTH_WIDTH_MAX && share >= LENGTH_SHARE_MIN);
  return onlyValue(protocols) === IP_PROTOCOL.udp && !hasPorts && !hasLength && fragment !== true;
}

/** Whether the rule is about the port of a service, or about a tunnel, of which too few other packets are seen. */
function isAtService(rule: Rule, users: UsersAtRisk, services: SeenTraffic["services"]): boolean {
  if (services != null) return canMatchAny(rule, servedOf(services)) && users.near(rule).seenCount < NEIGHBORS_MIN;
  const isOfPort = rule.destinationPorts.some(({ from, to }) => from === to && SERVICE_PORTS.has(from));
  const isOfTunnel = TUNNELS.has(onlyValue(rule.protocols) ?? -1);
  return (isOfPort || isOfTunnel) && users.near(rule).seenCount < NEIGHBORS_MIN;
}

/** A heavy source has at least this multiple of the median source's packets. */
const HEAVY_TIMES = 8;
const HEAVY_SHARE_MIN = 0.5;
const MILD_SOURCES_MIN = 8;

/**
 * Where a few sources send most of what is matched and many send a little, the many are probably users who send the same:
 * their share. 0: the sources are alike, as those of a flood with forged sources are.
 */
function shareOfMildSources(matched: readonly WeightedPacket[]): number {
  const counts = new Map<IpAddress, number>();
  for (const { header } of matched) counts.set(header.source, (counts.get(header.source) ?? 0) + 1);
  const sorted = [...counts.values()].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const mild = sorted.filter((count) => count < HEAVY_TIMES * middle);
  const share = mild.reduce((sum, count) => sum + count, 0) / (matched.length || 1);
  const isMixed = mild.length < sorted.length && mild.length >= MILD_SOURCES_MIN && share <= 1 - HEAVY_SHARE_MIN;
  return isMixed ? share : 0;
}
