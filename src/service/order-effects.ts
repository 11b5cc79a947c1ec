/** The effect that an order would have had on the last minute's traffic, as the running service knows it. */
import { ADMINISTRATOR } from "../access/shares.ts";
import type { MinuteHeader } from "../detection/attack/minute-sample.ts";
import type { SourceBlockPreview } from "../http/backend.ts";
import type { OrderEffect } from "../http/order-sources.ts";
import type { Ban } from "../mitigation/ban.ts";
import { type FlowspecMeasure, type Measure, scrubbedRules } from "../mitigation/measure.ts";
import type { OperatorRule, RateLimit } from "../mitigation/operator/operator-rule.ts";
import { pairRule, rememberedByHost, ruleEffect } from "../mitigation/operator/rule-effect.ts";
import { ANY_MATCH, type Match } from "../mitigation/rules/match.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import type { IpAddress } from "../net/address.ts";
import { hostPrefix } from "../net/prefix.ts";
import { PrefixTable } from "../net/prefix-table.ts";
import type { BlockRequest } from "../sourceblock/source-block.ts";
import type { Now } from "../system/now.ts";
import type { Floodwall } from "./floodwall.ts";

/** Fewer say nothing: a share of a tenth is then known to a factor of two at best. */
export const EFFECT_HEADERS_MIN = 40;

type Running = Pick<Floodwall, "config"> & {
  readonly bans: Pick<Floodwall["bans"], "active">;
  readonly packetPath: Pick<NonNullable<Floodwall["packetPath"]>, "minute"> | null;
};

export function filterRuleEffect(rule: OperatorRule, running: Running): OrderEffect {
  // Source blocks come before.
  return effectOf(rule, running, { isOwn: () => true, isBlocked: ({ verdict }) => verdict === "drop_source" });
}

/** @param isOwn whether the caller may see the host. */
export function sourceBlockPreview(
  order: BlockRequest,
  running: Running & {
    readonly sourceBlocks: Pick<Floodwall["sourceBlocks"], "refusalOf" | "isDryRun">;
    readonly now: () => Pick<Now, "wallMs">;
  },
  isOwn: (host: IpAddress) => boolean,
): SourceBlockPreview {
  const { sourceBlocks } = running;
  const rule = pairRule(hostPrefix(order.source), hostPrefix(order.victim), ANY_MATCH);
  return {
    refusal: sourceBlocks.refusalOf(order, order.by ?? ADMINISTRATOR),
    dryRun: sourceBlocks.isDryRun,
    effect: effectOf(rule, running, { isOwn, isBlocked: () => false }),
  };
}

/** The traffic that a ban's measure would take: a blackhole or a divert all traffic, rules their matches. */
export function banEffect(
  { prefix, measure }: Ban,
  running: Running,
  isOwn: (host: IpAddress) => boolean,
): OrderEffect {
  const anyOf = matchesOf(measure);
  if (anyOf.length === 0) return { kind: "unknown", reason: "nothing is dropped by a rule that is known now" };
  const done = measure.kind === "flowspec" ? doneByRouters(measure) : ({ action: "drop", limit: null } as const);
  const whole = { name: "ban", ...done, when: "always", isDryRun: false, match: ANY_MATCH } as const;
  return effectOf({ ...whole, destinations: [prefix] }, running, { isOwn, isBlocked: () => false, anyOf });
}

function matchesOf(measure: Measure): readonly Match[] {
  switch (measure.kind) {
    case "none":
      return [];
    case "blackhole":
    case "divert":
      return [ANY_MATCH];
    case "flowspec":
      return measure.rules;
    case "scrub":
      return scrubbedRules(measure);
    default:
      return measure satisfies never;
  }
}

/** Marked packets go on; redirected ones are lost to the victim, as dropped ones. */
function doneByRouters({ rules, routers }: FlowspecMeasure): Pick<OperatorRule, "action" | "limit"> {
  if (routers?.kind === "mark") return { action: "pass", limit: null };
  if (routers?.kind === "redirect") return { action: "drop", limit: null };
  const limit = routers === undefined ? limitOf(rules) : { packetsPerSecond: routers.packetsPerSecond * rules.length };
  return limit === null ? { action: "drop", limit } : { action: "limit", limit: { ...NO_LIMIT, ...limit } };
}

const NO_LIMIT: RateLimit = {
  packetsPerSecond: 0,
  bytesPerSecond: 0,
  isPerSource: false,
  ipv4Length: 32,
  ipv6Length: 128,
};

/** All rules have one action; the rate of each is estimated together. */
function limitOf(rules: readonly Rule[]): Pick<RateLimit, "bytesPerSecond"> | null {
  const rates = rules.flatMap(({ action }) => (action.kind === "rate_limit" ? [action.bytesPerSecond] : []));
  return rates.length < rules.length ? null : { bytesPerSecond: rates.reduce((sum, rate) => sum + rate, 0) };
}

/** A virtual ban has no rules in the kernel. */
function bannedIn(bans: Iterable<Ban>): PrefixTable {
  return PrefixTable.of([...bans].filter(({ dryRun }) => !dryRun).map(({ prefix }) => prefix));
}

interface Seen {
  readonly isOwn: (host: IpAddress) => boolean;
  readonly isBlocked: (one: MinuteHeader) => boolean;
  /** Rules of a ban, which routers carry out. Absent: the data plane of this machine does, by the rule's own match. */
  readonly anyOf?: readonly Match[];
}

function effectOf(
  rule: OperatorRule,
  { config, bans, packetPath }: Running,
  { isOwn, isBlocked, anyOf }: Seen,
): OrderEffect {
  const unknown = (reason: string): OrderEffect => ({ kind: "unknown", reason });
  const isHere = anyOf === undefined;
  if (isHere && config.dataplane?.enabled !== true) {
    return unknown("there is no data plane: nothing is dropped on this machine");
  }
  if (packetPath === null) return unknown("nothing is captured: no section capture or telemetry is configured");
  if (!config.samples.enabled) return unknown("samples.enabled is false: no packet headers are kept");
  const { headers: all, seconds } = packetPath.minute();
  const isSeen = rememberedByHost(isOwn);
  const headers = all.filter(({ header }) => isSeen(header.destination));
  if (headers.length < EFFECT_HEADERS_MIN) {
    return unknown(
      `too few packet headers of the last minute: ${headers.length}, and ${EFFECT_HEADERS_MIN} are needed`,
    );
  }
  // Made only for rules that depend on it: there may be ten thousand bans.
  let banned: PrefixTable | null = null;
  const isBanned = (host: IpAddress) => {
    banned ??= bannedIn(bans.active.values());
    return banned.find(host) >= 0;
  };
  const groupOf = (host: IpAddress) => config.hostgroups[config.lookup.group(host)]?.name ?? "global";
  const isExempt = (host: IpAddress) => config.whitelist.find(host) >= 0 || config.own.refusalOf(host) !== null;
  // Routers know neither the whitelist nor the allowlist.
  const isAllowed = isHere ? allowedBy(config) : () => false;
  const terms = {
    ...{ minute: { headers, seconds }, isBanned, groupOf },
    isExempt: isHere ? isExempt : () => false,
    isDecided: (one: MinuteHeader) => isBlocked(one) || isAllowed(one.header.source),
  };
  const effect = ruleEffect(rule, terms, anyOf);
  return { kind: "known", effect };
}

/** Sources that pass before rules and blocks are tried: docs/operations/filter-rules.md. */
function allowedBy({ dataplane }: Floodwall["config"]): (source: IpAddress) => boolean {
  const allowlist = dataplane?.allowlist ?? [];
  const table = PrefixTable.of(allowlist);
  return (source) => allowlist.length > 0 && table.find(source) >= 0;
}
