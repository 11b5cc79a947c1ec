/**
 * The effect that a rule of the operator would have had on the traffic of the last minute, estimated from its sampled
 * headers: before it is ordered. Pure.
 */
import type { MinuteHeader, MinuteReading } from "../../detection/attack/minute-sample.ts";
import { addressFamily, type IpAddress } from "../../net/address.ts";
import { enclosingPrefix, type Prefix } from "../../net/prefix.ts";
import { PrefixTable } from "../../net/prefix-table.ts";
import { type Match, ruleMatches } from "../rules/match.ts";
import type { OperatorRule, RateLimit } from "./operator-rule.ts";

export interface EffectTerms {
  readonly minute: MinuteReading;
  /** Whether the address has a ban in force. */
  readonly isBanned: (host: IpAddress) => boolean;
  /** Whether something before the operator's rules decides about all packets to the host, or about this packet. */
  readonly isExempt: (host: IpAddress) => boolean;
  readonly isDecided: (one: MinuteHeader) => boolean;
  /** The name of the host's hostgroup. */
  readonly groupOf: (host: IpAddress) => string;
}

/** Means over the time of the sample. */
export interface MeanRates {
  readonly pps: number;
  readonly mbps: number;
}

export interface RuleEffect {
  /** The number of headers that all of this rests on, and the time that they are of. */
  readonly headers: number;
  readonly seconds: number;
  readonly total: MeanRates;
  /** To hosts that were in no attack. */
  readonly unattacked: MeanRates;
  /** The traffic that the rule matches; with a limit also the traffic within it. */
  readonly matched: MeanRates;
  /** The traffic that the rule drops, or in a dry run would drop. */
  readonly dropped: MeanRates;
  readonly droppedUnattacked: MeanRates;
  /** The part of the matched traffic that this machine dropped already. */
  readonly droppedBefore: MeanRates;
  /** Number and hostgroups of the hosts among the sampled ones that lose packets, of a `pass` rule that it matches. */
  readonly hosts: number;
  readonly hostgroups: readonly string[];
  /** Keys of the rule that headers do not show: it matches what is said here at most. */
  readonly notJudged: readonly string[];
}

/** A source that sends this many times its rate loses all packets (addon/bpf). */
const OVER_RATE_FACTOR = 20;
/** Names in an answer; a rule for very many hostgroups is for nearly all. */
const HOSTGROUPS_NAMED_MAX = 32;

/**
 * Takes a few milliseconds for the largest sample.
 * @param anyOf of several matches, in place of the rule's one.
 */
export function ruleEffect(rule: OperatorRule, terms: EffectTerms, anyOf: readonly Match[] = [rule.match]): RuleEffect {
  const { headers, seconds } = terms.minute;
  const isFor = hostTest(rule, terms);
  const isMatched = ({ header }: MinuteHeader) => anyOf.some((match) => ruleMatches(match, header));
  const matched = headers.filter((one) => isMatched(one) && isFor(one.header.destination) && !terms.isDecided(one));
  const lostOf = lostShares(rule, matched, seconds);
  const sums = {
    ...{ total: new Sum(), unattacked: new Sum(), matched: new Sum() },
    ...{ dropped: new Sum(), droppedUnattacked: new Sum(), droppedBefore: new Sum() },
  };
  const hosts = new Set<IpAddress>();
  for (const one of headers) {
    sums.total.add(one);
    if (!one.isAttacked) sums.unattacked.add(one);
  }
  for (const [i, one] of matched.entries()) {
    const lost = lostOf[i] as number;
    sums.matched.add(one);
    sums.dropped.add(one, lost);
    if (!one.isAttacked) sums.droppedUnattacked.add(one, lost);
    if (one.verdict?.startsWith("drop_") === true) sums.droppedBefore.add(one);
    if (lost > 0 || rule.action === "pass") hosts.add(one.header.destination);
  }
  const groups = new Set([...hosts].map(terms.groupOf));
  return {
    headers: headers.length,
    seconds,
    total: sums.total.rates(seconds),
    unattacked: sums.unattacked.rates(seconds),
    matched: sums.matched.rates(seconds),
    dropped: sums.dropped.rates(seconds),
    droppedUnattacked: sums.droppedUnattacked.rates(seconds),
    droppedBefore: sums.droppedBefore.rates(seconds),
    hosts: hosts.size,
    hostgroups: [...groups].sort().slice(0, HOSTGROUPS_NAMED_MAX),
    notJudged: unseenKeys(rule.match),
  };
}

/** The rule by which a source block acts: it decides before the operator's rules, and looks at both addresses alone. */
export function pairRule(source: Prefix, victim: Prefix, match: Match): OperatorRule {
  const whole = { name: "source-block", action: "drop", when: "always", isDryRun: false, limit: null } as const;
  return { ...whole, destinations: [victim], match: { ...match, source } };
}

/** Whether the rule is for a host. */
function hostTest({ when, destinations }: OperatorRule, terms: EffectTerms): (host: IpAddress) => boolean {
  const table = PrefixTable.of(destinations);
  return rememberedByHost(
    (host) =>
      (destinations.length === 0 || table.find(host) >= 0) &&
      (when === "always" || terms.isBanned(host)) &&
      !terms.isExempt(host),
  );
}

/** Looks up each host once: a sample has many headers of each. */
export function rememberedByHost(isIt: (host: IpAddress) => boolean): (host: IpAddress) => boolean {
  const known = new Map<IpAddress, boolean>();
  return (host) => {
    const answer = known.get(host) ?? isIt(host);
    known.set(host, answer);
    return answer;
  };
}

/** The share of each that is lost. */
function lostShares({ action, limit }: OperatorRule, matched: readonly MinuteHeader[], seconds: number): number[] {
  if (limit === null) return matched.map(() => (action === "drop" ? 1 : 0));
  const keys = matched.map(({ header }) => (limit.isPerSource ? sourceOf(header.source, limit) : ""));
  const sums = new Map<string, Sum>();
  for (const [i, one] of matched.entries()) {
    const key = keys[i] as string;
    const sum = sums.get(key) ?? new Sum();
    sums.set(key, sum);
    sum.add(one);
  }
  const lost = new Map([...sums].map(([key, sum]) => [key, lostBeyond(limit, sum.rates(seconds))]));
  return keys.map((key) => lost.get(key) as number);
}

function sourceOf(source: IpAddress, { ipv4Length, ipv6Length }: RateLimit): string {
  return enclosingPrefix(source, addressFamily(source) === 4 ? ipv4Length : ipv6Length).text;
}

/** By means: bursts lose more. */
function lostBeyond({ packetsPerSecond, bytesPerSecond, isPerSource }: RateLimit, { pps, mbps }: MeanRates): number {
  const over = (rate: number, limit: number) => (limit === 0 ? 0 : rate / limit);
  const times = Math.max(over(pps, packetsPerSecond), over((mbps * 1e6) / 8, bytesPerSecond));
  if (times <= 1) return 0;
  return isPerSource && times >= OVER_RATE_FACTOR ? 1 : 1 - 1 / times;
}

const NO_RATES: MeanRates = { pps: 0, mbps: 0 };

class Sum {
  #packets = 0;
  #bits = 0;

  /** @param share of the packets. */
  add({ packets, wireBytes }: MinuteHeader, share = 1): void {
    this.#packets += packets * share;
    this.#bits += 8 * packets * share * wireBytes;
  }

  rates(seconds: number): MeanRates {
    return seconds === 0 ? NO_RATES : { pps: this.#packets / seconds, mbps: this.#bits / 1e6 / seconds };
  }
}

function unseenKeys({ ttl, dscp, tcpWindow, tcpOptions, payload, inSets, notInSets }: Match): string[] {
  const isUsed = {
    source_sets: inSets.length > 0,
    not_source_sets: notInSets.length > 0,
    ttl: ttl !== null,
    dscp: dscp.length > 0,
    tcp_window: tcpWindow !== null,
    tcp_options: tcpOptions !== null,
    payload: payload.length > 0,
  };
  return Object.entries(isUsed).flatMap(([key, used]) => (used ? [key] : []));
}
