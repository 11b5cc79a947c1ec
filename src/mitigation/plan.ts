/** Plans a ban: the rung that is due, its substitute when it is refused, and the rules. Pure. */
import type { GroupMitigation, RouteTerms } from "../config/sections/mitigation.ts";
import type { ScrubConfig } from "../config/sections/scrub.ts";
import { type Attack, isActive } from "../detection/attack/attack.ts";
import { type Classification, TCP_FLOODS } from "../detection/attack/classifier.ts";
import type { SampledPacket } from "../detection/attack/sample.ts";
import type { TrafficProfile } from "../detection/attack/traffic-profile.ts";
import type { Vector } from "../detection/attack/vector.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { UnicastRoute } from "./announcer.ts";
import { ALL_NODES_LOST, type Ban, hasNoScrubTarget, type NoTarget, type Plan } from "./ban.ts";
import { isOneAddress } from "./ban-subject.ts";
import { type Action, dueStep, isLessSevere, type Method, methodOf, STRICTER_MS } from "./escalation.ts";
import {
  type FlowspecMeasure,
  isSameRules,
  type Measure,
  NO_MEASURE,
  type NodeRules,
  narrowRules,
  withAction,
} from "./measure.ts";
import type { Rule } from "./rules/rule.ts";
import type { RungState } from "./rung-clock.ts";
import type { ScrubFilter } from "./scrub/scrub-filter.ts";

/** The configuration for one prefix. */
export interface BanTerms extends GroupMitigation {
  readonly group: string;
}

/** An attack with the packets that its metrics count, of the attack and of users. */
export interface ObservedAttack {
  readonly attack: Attack;
  readonly packets: readonly SampledPacket[];
  /** What the host received before; null: not known. */
  readonly profile: TrafficProfile | null;
}

/**
 * Makes the rules that match the attacks on a prefix; without an attack, all of its traffic. `present`: the rules in
 * force, which are returned if they are good enough.
 */
export type RuleMaker = (
  prefix: Prefix,
  attacks: readonly ObservedAttack[],
  flowspec: BanTerms["flowspec"],
  present: readonly Rule[],
) => Pick<FlowspecMeasure, "rules" | "matchesAll" | "isInseparable">;

/**
 * What changed since the rules were made: nothing (`same`), packets of the same kind of attack (`newer`), or the attack
 * was classified again from enough packets (`reclassified`).
 */
export type Evidence = "same" | "newer" | "reclassified";

export interface Circumstances {
  /** The attacks that keep the ban in force. */
  readonly attacks: readonly Attack[];
  /** Why neighbors do not have the current routes; null: they have them, or it is not known. */
  readonly refusal: string | null;
  /** Whether a method that was refused, and replaced by the fallback, may be tried again. */
  readonly isTakenAgain: (method: Method) => boolean;
  readonly evidence: Evidence;
  /** What the ban's rung has come to. */
  readonly rung: RungState;
  readonly packetsOf: (attack: Attack) => readonly SampledPacket[];
  readonly profileOf: (attack: Attack) => TrafficProfile | null;
  readonly makeRules: RuleMaker;
  /** null: no nodes are configured. */
  readonly divertTo: (request: DivertRequest) => NodeTarget | null;
  /** The rules for nodes that do not support all rules of a diverted ban; `present` itself if nothing changes. */
  readonly nodeRules: (request: NodeRulesRequest) => readonly NodeRules[];
  /** How long rules wait for the first classification of an attack. */
  readonly evidenceWaitMs: number;
}

export interface DivertRequest {
  readonly prefix: Prefix;
  /** The hostgroup of the prefix. */
  readonly group: string;
  /** The node that receives the traffic already; null: none. */
  readonly currentNode: string | null;
  /** The rules for the traffic; empty: not known yet, or none. Not needed while the current node stays. */
  readonly rules: () => readonly Rule[];
}

export interface NodeRulesRequest {
  readonly prefix: Prefix;
  readonly flowspec: BanTerms["flowspec"];
  /** The rules for nodes that support all match fields. */
  readonly rules: readonly Rule[];
  readonly present: readonly NodeRules[];
  /** The rules or the packets changed since the present ones were made. */
  readonly isOutdated: boolean;
  /** The classified attacks with packets. */
  readonly observed: () => readonly ObservedAttack[];
}

/** Which of the configured scrub nodes to divert to. */
export type NodeTarget =
  | { readonly kind: "node"; readonly name: string; readonly nextHop: IpAddress }
  /** No node accepts traffic of this hostgroup and family. */
  | { readonly kind: "none" }
  /** All nodes that accept such traffic are lost, or do not enforce the ban's rules; `why` absent: lost. */
  | { readonly kind: "lost"; readonly instead: "withdraw" | "blackhole" | "flowspec"; readonly why?: NoTarget };

export type PlannedBan = Pick<Ban, "prefix" | "manual" | "dryRun" | "countedFrom" | "attackId"> & Plan;

/** The plan for a ban. If hasNoScrubTarget(plan) holds, the ban ends or does not start. */
export function planOf(ban: PlannedBan, terms: BanTerms, circumstances: Circumstances, wallMs: number): Plan {
  const { countedFrom, manual: isManual } = ban;
  const { rung } = circumstances;
  const step = dueStep(terms.ladder, { elapsedMs: wallMs - countedFrom, isManual, step: ban.step, ...rung });
  const plan = planAt(step, ban, terms, circumstances, wallMs);
  // A ban that already acts keeps its rung if the next one has no scrub target.
  const isDoing =
    (step > ban.step || (rung.isEased && step < ban.step)) && (!ban.manual || ban.measure.kind !== "none");
  return hasNoScrubTarget(plan) && isDoing ? planAt(ban.step, ban, terms, circumstances, wallMs) : plan;
}

function planAt(step: number, ban: PlannedBan, terms: BanTerms, circumstances: Circumstances, wallMs: number): Plan {
  const action = terms.ladder[step]?.action ?? "none";
  const refused = fallbackCause(ban, { step, action }, terms, circumstances);
  const wanted = refused === null ? action : terms.ban.fallback;
  let made: FlowspecMeasure | null = null;
  const rules = () => {
    made ??= rulesOf(ban, terms, circumstances, wallMs);
    return made;
  };
  const scrubber = wanted === "divert" ? scrubberFor(ban, terms, circumstances, rules) : null;
  const { done, fallback } = divertSubstitute(wanted, scrubber, ban, terms) ?? { done: wanted, fallback: refused };
  if (done === null) return { step, method: "divert", measure: NO_MEASURE, fallback };
  return {
    step,
    method: done === "none" ? methodOf(terms.ladder, step) : done,
    measure: measureOf(done, scrubber, ban, terms, circumstances, rules),
    fallback,
  };
}

/** Prefix of the fallback text after a refusal. The method is tried again later; other causes are checked each time. */
const REFUSED = "bgp announce failed: ";

/** null: the rung's own action applies. A virtual ban announces nothing that could be refused. */
function fallbackCause(
  ban: PlannedBan,
  { step, action }: { readonly step: number; readonly action: Action },
  terms: BanTerms,
  { refusal, isTakenAgain }: Pick<Circumstances, "refusal" | "isTakenAgain">,
): string | null {
  const { fallback } = terms.ban;
  if (ban.dryRun || fallback === "none" || fallback === action || action === "none") return null;
  // The fallback stays for this rung, and for later ones unless they are more severe, until the method may be tried
  // again. The refusal then is not one of this method.
  const isFor = step === ban.step || (step > ban.step && !isLessSevere(fallback, action));
  const isKept = ban.fallback?.startsWith(REFUSED) === true && isFor;
  if (isKept) return isTakenAgain(action) ? null : ban.fallback;
  return refusal !== null && step === ban.step ? REFUSED + refusal : null;
}

type Scrubber = { readonly route: UnicastRoute | null; readonly node: string | null };
type Scrubbing = Scrubber | Extract<NodeTarget, { kind: "lost" }>;

/** A scrub node if nodes are configured, else the next hop of the hostgroup's terms. */
function scrubberFor(
  { prefix, measure }: PlannedBan,
  terms: BanTerms,
  { divertTo }: Circumstances,
  rules: () => FlowspecMeasure,
): Scrubbing {
  const currentNode = measure.kind === "divert" ? measure.node : null;
  const target = divertTo({ prefix, group: terms.group, currentNode, rules: () => narrowRules(rules()) });
  if (target?.kind === "lost") return target;
  if (target?.kind === "none") return { route: null, node: null };
  const nextHop = target?.nextHop ?? nextHopOf(prefix, terms.divert);
  return { route: routeOf(prefix, terms.divert, nextHop), node: target?.name ?? null };
}

/** The substitute for a divert without a target (`done` null: nothing at all); null: no substitute is needed. */
function divertSubstitute(
  wanted: Action,
  scrubber: Scrubbing | null,
  { prefix, dryRun }: PlannedBan,
  { ban: { fallback } }: BanTerms,
): { readonly done: Action | null; readonly fallback: string } | null {
  if (scrubber === null) return null;
  if ("kind" in scrubber) {
    // Prefix bans have no substitute.
    const isInstead = scrubber.instead !== "withdraw" && isOneAddress(prefix);
    return { done: isInstead ? scrubber.instead : null, fallback: scrubber.why ?? ALL_NODES_LOST };
  }
  const isLeft = scrubber.route !== null || dryRun || fallback === "none" || fallback === wanted;
  return isLeft ? null : { done: fallback, fallback: `scrubbing has no next hop for IPv${prefix.family}` };
}

function measureOf(
  action: Action,
  scrubber: Scrubbing | null,
  ban: PlannedBan,
  terms: BanTerms,
  circumstances: Circumstances,
  rules: () => FlowspecMeasure,
): Measure {
  const { prefix } = ban;
  switch (action) {
    case "none":
      return NO_MEASURE;
    case "blackhole":
      return { kind: action, route: routeOf(prefix, terms.blackhole, nextHopOf(prefix, terms.blackhole)) };
    case "divert": {
      const { route, node } = scrubber === null || "kind" in scrubber ? NO_SCRUBBER : scrubber;
      const nodeRules = nodeRulesOf(ban, terms, circumstances, rules());
      const filter = terms.scrub.isOnNodes ? { filter: filterOf(ban, terms, circumstances) } : {};
      return { kind: action, route, node, rules: rules(), ...(nodeRules.length === 0 ? {} : { nodeRules }), ...filter };
    }
    case "flowspec":
      return rules();
    case "scrub":
      return { kind: action, rules: rules(), filter: scrubbedHere(ban, terms, circumstances) };
    default:
      return action satisfies never;
  }
}

/** What is always done goes on as a whole. */
function scrubbedHere(ban: PlannedBan, terms: BanTerms, circumstances: Circumstances): ScrubFilter {
  return terms.scrub.isAlways
    ? strictly(wholeFilter(terms.scrub), ban, circumstances)
    : filterOf(ban, terms, circumstances);
}

/**
 * Sources prove themselves in the way that is milder for users until the attack gets through so: an attacker who knows
 * hosts that reset what they did not ask for can send in their names (addon/bpf/validate_source.h). The stricter way
 * then stays for the ban.
 */
function strictly(filter: ScrubFilter, { measure }: PlannedBan, { rung }: Circumstances): ScrubFilter {
  const known = measure.kind === "scrub" || measure.kind === "divert" ? measure.filter : undefined;
  const isGettingThrough = known?.tcp === "transparent" && rung.unheldMs >= STRICTER_MS;
  const isStrict = filter.tcp === "transparent" && (isGettingThrough || known?.isStrict === true);
  return isStrict ? { ...filter, tcp: "reset", isStrict } : filter;
}

function wholeFilter({ profile: _name, isAlways: _always, isOnNodes: _nodes, ...filter }: ScrubConfig): ScrubFilter {
  return filter;
}

/**
 * Sources of a protocol that the attack does not use need not prove their address. Of a ban that outlasts its attack
 * this stays as it is; a ban that had none validates all.
 */
function filterOf(ban: PlannedBan, { scrub }: BanTerms, circumstances: Circumstances): ScrubFilter {
  const { measure, attackId } = ban;
  const { attacks } = circumstances;
  const filter = wholeFilter(scrub);
  if (attacks.length === 0 && attackId === null) return strictly(filter, ban, circumstances);
  const known = measure.kind === "scrub" || measure.kind === "divert" ? measure.filter : undefined;
  const before = attacks.length === 0 ? (known ?? null) : null;
  const hasTcp = before === null ? attacks.length === 0 || !attacks.every(isWithoutTcp) : before.tcp !== null;
  const hasUdp = before === null ? attacks.length === 0 || !attacks.every(isWithoutUdp) : before.dns;
  const tcp = hasTcp || filter.tcp === null ? { tcp: filter.tcp } : ({ tcp: null, learnsTcp: true } as const);
  return strictly({ ...filter, ...tcp, dns: hasUdp && filter.dns }, ban, circumstances);
}

/** An attack that is not classified yet may be any that its metric allows. */
function isWithoutTcp({ classification, metric }: Attack): boolean {
  if (classification === null) return metric.startsWith("udp_") || metric.startsWith("icmp_");
  return !vectorsOf(classification).some((type) => TCP_VECTORS.has(type));
}

function isWithoutUdp({ classification, metric }: Attack): boolean {
  if (classification === null) return metric.startsWith("tcp_") || metric.startsWith("icmp_");
  return vectorsOf(classification).every((type) => TCP_VECTORS.has(type) || type.startsWith("icmp_"));
}

function vectorsOf({ type, parts }: Classification): Vector[] {
  return [type, ...parts.map((part) => part.type)];
}

const TCP_VECTORS: ReadonlySet<Vector> = new Set(TCP_FLOODS);

const NO_SCRUBBER: Scrubber = { route: null, node: null };

/** They stay while the rules and the packets do, unless nodes support other match fields now. */
function nodeRulesOf(
  { prefix, measure }: PlannedBan,
  { flowspec }: BanTerms,
  circumstances: Circumstances,
  rules: FlowspecMeasure,
): readonly NodeRules[] {
  const before = measure.kind === "divert" ? measure : null;
  return circumstances.nodeRules({
    prefix,
    flowspec,
    rules: narrowRules(rules),
    present: before?.nodeRules ?? NO_NODE_RULES,
    isOutdated: before?.rules !== rules || circumstances.evidence !== "same",
    observed: () => observedOf(circumstances),
  });
}

const NO_NODE_RULES: readonly NodeRules[] = [];

function nextHopOf({ family }: Prefix, terms: RouteTerms | null): IpAddress | null {
  return (family === 4 ? terms?.nextHop : terms?.nextHop6) ?? null;
}

function routeOf(prefix: Prefix, terms: RouteTerms | null, nextHop: IpAddress | null): UnicastRoute | null {
  if (terms === null || nextHop === null) return null;
  return { kind: "unicast", prefix, nextHop, communities: terms.communities, localPref: terms.localPref };
}

/**
 * Rules wait shortly for the first classification of the attack. They stay while they match the attack's packets and
 * no users.
 */
function rulesOf(
  { prefix, measure }: PlannedBan,
  terms: BanTerms,
  circumstances: Circumstances,
  wallMs: number,
): FlowspecMeasure {
  const { attacks, evidence, makeRules, evidenceWaitMs } = circumstances;
  const { flowspec } = terms;
  const localPref = localPrefOf(terms);
  const known = measure.kind === "divert" || measure.kind === "scrub" ? measure.rules : measure;
  const isMade = known.kind === "flowspec" && (known.rules.length > 0 || known.isInseparable === true);
  const present = isMade ? known : null;
  if (present?.basis === basisOf(terms, attacks.filter(isClassified)) && evidence === "same") return present;
  const seen = observedOf(circumstances);
  // The attack ended before the ban, or a starting service has no packets yet: the match stays.
  if (present !== null && seen.length === 0) return withAction(present, flowspec.action, localPref);
  const basis = basisOf(
    terms,
    seen.map(({ attack }) => attack),
  );
  if (present?.basis === basis && evidence === "same") return present;
  const isEarly = attacks.some((attack) => isActive(attack) && isRecent(attack, evidenceWaitMs, wallMs));
  if (seen.length === 0 && isEarly) return { kind: "flowspec", ...NO_RULES, localPref, basis };
  const attacksSeen = seen.length > 0 ? seen : attacks.map((attack) => ({ attack, packets: [], profile: null }));
  const kept = present === null || present.matchesAll ? null : withAction(present, flowspec.action, localPref);
  const made = makeRules(prefix, attacksSeen, flowspec, kept?.rules ?? []);
  // Rules do not widen to all traffic of the victim.
  if (kept !== null && made.matchesAll) return { ...kept, basis };
  if (present !== null && isSameRules(present, made) && present.basis === basis) return present;
  return { kind: "flowspec", ...made, localPref, basis };
}

const NO_RULES = { rules: [], matchesAll: false } as const;

function isClassified({ classification }: Attack): boolean {
  return classification !== null;
}

/** The classified attacks with packets. */
function observedOf({ attacks, packetsOf, profileOf }: Circumstances): readonly ObservedAttack[] {
  return attacks
    .filter(isClassified)
    .map((attack) => ({ attack, packets: packetsOf(attack), profile: profileOf(attack) }))
    .filter(({ packets }) => packets.length > 0);
}

function localPrefOf({ blackhole }: BanTerms): number {
  return blackhole?.localPref ?? 0;
}

/** Cached by terms: with thousands of bans, each is requested several times per second. */
const TERMS_TEXTS = new WeakMap<BanTerms, string>();

function basisOf(terms: BanTerms, attacks: readonly Attack[]): string {
  let text = TERMS_TEXTS.get(terms);
  if (text === undefined) {
    text = JSON.stringify([terms.flowspec, localPrefOf(terms)]);
    TERMS_TEXTS.set(terms, text);
  }
  const [first, ...others] = attacks;
  if (first === undefined) return text;
  return others.length === 0 ? `${text} ${kindOf(first)}` : [text, ...new Set(attacks.map(kindOf))].join(" ");
}

/** False when the clock was set back to before the start. */
function isRecent({ startedAt }: Attack, forMs: number, wallMs: number): boolean {
  return wallMs >= startedAt && wallMs - startedAt < forMs;
}

/** Cached by classification. */
const KINDS = new WeakMap<Classification, string>();

/** The part of a classification that rules depend on: a change of shares alone makes no new rules. */
function kindOf({ direction, classification }: Attack): string {
  if (classification === null) return direction;
  let kind = KINDS.get(classification);
  if (kind === undefined) {
    kind = [classification.type, ...classification.parts.map(({ type }) => type).sort()].join("+");
    KINDS.set(classification, kind);
  }
  return `${direction}+${kind}`;
}
