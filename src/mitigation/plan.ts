/** What is to be done for a ban now: the rung that is due, what stands in for it when it is refused, and the rules. Pure. */
import type { GroupMitigation, RouteTerms } from "../config/sections/mitigation.ts";
import { type Attack, isActive } from "../detection/attack/attack.ts";
import type { Classification } from "../detection/attack/classifier.ts";
import type { SampledPacket } from "../detection/attack/sample.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { UnicastRoute } from "./announcer.ts";
import { ALL_NODES_LOST, type Ban, isForsaken, type Plan } from "./ban.ts";
import { isOneAddress } from "./ban-subject.ts";
import { type Action, dueStep, isMilder, methodOf } from "./escalation.ts";
import { type FlowspecMeasure, type Measure, NO_MEASURE, withAction } from "./measure.ts";
import type { Rule } from "./rules/rule.ts";
import { isEnough, isWorthChanging } from "./rules/rule-coverage.ts";

/** What the configuration says for one prefix. */
export interface BanTerms extends GroupMitigation {
  readonly group: string;
}

/** An attack, and packets of it, as far as they can be told from others. */
export interface SeenAttack {
  readonly attack: Attack;
  readonly packets: readonly SampledPacket[];
}

/** The rules that catch the attacks on a prefix; with no attack, all of its traffic. */
export type RuleMaker = (
  prefix: Prefix,
  attacks: readonly SeenAttack[],
  flowspec: BanTerms["flowspec"],
) => { readonly rules: readonly Rule[]; readonly matchesAll: boolean };

/**
 * What has come since the rules were made: nothing, packets of an attack of the same kind, or enough of them to tell anew
 * what it is.
 */
export type Evidence = "same" | "newer" | "told";

export interface Circumstances {
  /** Those that hold the ban, with what is known of them. */
  readonly attacks: readonly Attack[];
  /** Why neighbors do not get what is done now; null: they do, or it is not known. */
  readonly refusal: string | null;
  readonly evidence: Evidence;
  readonly packetsOf: (attack: Attack) => readonly SampledPacket[];
  readonly makeRules: RuleMaker;
  /** null: no nodes are configured. */
  readonly divertTo: (request: DivertRequest) => NodeTarget | null;
  /** How long rules wait until it can be told what the attack is. */
  readonly evidenceWaitMs: number;
}

export interface DivertRequest {
  readonly prefix: Prefix;
  /** The hostgroup that it is of. */
  readonly group: string;
  /** The node that it goes to already; null: none. */
  readonly frozenTo: string | null;
}

/** What the scrub nodes that are configured come to. */
export type NodeTarget =
  | { readonly kind: "node"; readonly name: string; readonly nextHop: IpAddress }
  /** None takes traffic of this hostgroup and family. */
  | { readonly kind: "none" }
  /** Those that would take it are lost. */
  | { readonly kind: "lost"; readonly instead: "withdraw" | "blackhole" | "flowspec" };

export type PlannedBan = Pick<Ban, "prefix" | "manual" | "dryRun" | "countedFrom"> & Plan;

/** A plan that is forsaken (ban.ts) is none: there is nobody to divert to, and nothing is to be done instead. */
export function planOf(ban: PlannedBan, terms: BanTerms, circumstances: Circumstances, wallMs: number): Plan {
  const step = dueStep(terms.ladder, wallMs - ban.countedFrom, ban.manual);
  const plan = planAt(step, ban, terms, circumstances, wallMs);
  // A ban does not climb to a divert that cannot be had: it goes on with what it does.
  const isDoing = step > ban.step && (!ban.manual || ban.measure.kind !== "none");
  return isForsaken(plan) && isDoing ? planAt(ban.step, ban, terms, circumstances, wallMs) : plan;
}

function planAt(step: number, ban: PlannedBan, terms: BanTerms, circumstances: Circumstances, wallMs: number): Plan {
  const action = terms.ladder[step]?.action ?? "none";
  const refused = fallbackCause(ban, { step, action }, terms, circumstances.refusal);
  const wanted = refused === null ? action : terms.ban.fallback;
  const scrubber = wanted === "divert" ? scrubberFor(ban, terms, circumstances) : null;
  const { done, fallback } = insteadOf(wanted, scrubber, ban, terms) ?? { done: wanted, fallback: refused };
  if (done === null) return { step, method: "divert", measure: NO_MEASURE, fallback };
  return {
    step,
    method: done === "none" ? methodOf(terms.ladder, step) : done,
    measure: measureOf(done, scrubber, ban, terms, circumstances, wallMs),
    fallback,
  };
}

/** Begins the cause of a refusal, which is not tried again; all other causes are looked at anew each time. */
const REFUSED = "bgp announce failed: ";

/** null: the rung's own action is taken. A virtual ban has nothing that could be refused. */
function fallbackCause(
  ban: PlannedBan,
  { step, action }: { readonly step: number; readonly action: Action },
  terms: BanTerms,
  refusal: string | null,
): string | null {
  const { fallback } = terms.ban;
  if (ban.dryRun || fallback === "none" || fallback === action || action === "none") return null;
  // It holds for its rung, and beyond it for all that would take less: what was refused is not tried again and again.
  const isKept = ban.fallback?.startsWith(REFUSED) === true && (step === ban.step || !isMilder(fallback, action));
  if (isKept) return ban.fallback;
  return refusal !== null && step === ban.step ? REFUSED + refusal : null;
}

type Scrubber = { readonly route: UnicastRoute | null; readonly node: string | null };
type Scrubbing = Scrubber | Extract<NodeTarget, { kind: "lost" }>;

/** With nodes it is one of them, else where the hostgroup's terms say. */
function scrubberFor({ prefix, measure }: PlannedBan, terms: BanTerms, { divertTo }: Circumstances): Scrubbing {
  const frozenTo = measure.kind === "divert" ? measure.node : null;
  const target = divertTo({ prefix, group: terms.group, frozenTo });
  if (target?.kind === "lost") return target;
  if (target?.kind === "none") return { route: null, node: null };
  const nextHop = target?.nextHop ?? nextHopOf(prefix, terms.divert);
  return { route: routeOf(prefix, terms.divert, nextHop), node: target?.name ?? null };
}

/** What is done in place of a divert that cannot be had, null being nothing at all; null: what is wanted. */
function insteadOf(
  wanted: Action,
  scrubber: Scrubbing | null,
  { prefix, dryRun }: PlannedBan,
  { ban: { fallback } }: BanTerms,
): { readonly done: Action | null; readonly fallback: string } | null {
  if (scrubber === null) return null;
  if ("kind" in scrubber) {
    // For prefixes nothing stands in for what was asked for.
    const isInstead = scrubber.instead !== "withdraw" && isOneAddress(prefix);
    return { done: isInstead ? scrubber.instead : null, fallback: ALL_NODES_LOST };
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
  wallMs: number,
): Measure {
  const { prefix } = ban;
  switch (action) {
    case "none":
      return NO_MEASURE;
    case "blackhole":
      return { kind: action, route: routeOf(prefix, terms.blackhole, nextHopOf(prefix, terms.blackhole)) };
    case "divert": {
      const { route, node } = scrubber === null || "kind" in scrubber ? NO_SCRUBBER : scrubber;
      return { kind: action, route, node, rules: rulesOf(ban, terms, circumstances, wallMs) };
    }
    case "flowspec":
      return rulesOf(ban, terms, circumstances, wallMs);
    default:
      return action satisfies never;
  }
}

const NO_SCRUBBER: Scrubber = { route: null, node: null };

function nextHopOf({ family }: Prefix, terms: RouteTerms | null): IpAddress | null {
  return (family === 4 ? terms?.nextHop : terms?.nextHop6) ?? null;
}

function routeOf(prefix: Prefix, terms: RouteTerms | null, nextHop: IpAddress | null): UnicastRoute | null {
  if (terms === null || nextHop === null) return null;
  return { kind: "unicast", prefix, nextHop, communities: terms.communities, localPref: terms.localPref };
}

/** Rules wait a moment for the first judgement of what the attack is, and stay until that becomes another or they miss it. */
function rulesOf(
  { prefix, measure }: PlannedBan,
  terms: BanTerms,
  { attacks, evidence, packetsOf, makeRules, evidenceWaitMs }: Circumstances,
  wallMs: number,
): FlowspecMeasure {
  const { flowspec } = terms;
  const localPref = localPrefOf(terms);
  const known = measure.kind === "divert" ? measure.rules : measure;
  const present = known.kind === "flowspec" && known.rules.length > 0 ? known : null;
  const told = attacks.filter(({ classification }) => classification !== null);
  if (present?.basis === basisOf(terms, told) && evidence === "same") return present;
  const seen = told
    .map((attack) => ({ attack, packets: packetsOf(attack) }))
    .filter(({ packets }) => packets.length > 0);
  // The attack is over and the ban is not, or a service that starts has seen no packets yet: what to match is as it was.
  if (present !== null && seen.length === 0) return withAction(present, flowspec.action, localPref);
  const basis = basisOf(
    terms,
    seen.map(({ attack }) => attack),
  );
  const kept = present?.basis === basis && evidence !== "told" ? present : null;
  const newest = seen.flatMap(({ packets }) => packets);
  if (kept !== null && (evidence === "same" || isEnough(kept.rules, newest))) return kept;
  const isEarly = attacks.some((attack) => isActive(attack) && isYoung(attack, evidenceWaitMs, wallMs));
  if (seen.length === 0 && isEarly) return { kind: "flowspec", rules: [], matchesAll: false, localPref, basis };
  const attacksSeen = seen.length > 0 ? seen : attacks.map((attack) => ({ attack, packets: [] }));
  const made = makeRules(prefix, attacksSeen, flowspec);
  // An attack may move on, to other ports say, and be of the same kind: rules follow, but not every chance, and never to
  // all traffic of the victim.
  if (kept !== null && (made.matchesAll || !isWorthChanging(kept.rules, made.rules, newest))) return kept;
  return { kind: "flowspec", ...made, localPref, basis };
}

function localPrefOf({ blackhole }: BanTerms): number {
  return blackhole?.localPref ?? 0;
}

/** Made once for the terms of a hostgroup: with thousands of bans all are asked for several times a second. */
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

/** A clock that was set back makes no attack young again. */
function isYoung({ startedAt }: Attack, forMs: number, wallMs: number): boolean {
  return wallMs >= startedAt && wallMs - startedAt < forMs;
}

/** Made once a judgement. */
const KINDS = new WeakMap<Classification, string>();

/** What rules follow from: a share that moves makes no other rules. */
function kindOf({ direction, classification }: Attack): string {
  if (classification === null) return direction;
  let kind = KINDS.get(classification);
  if (kind === undefined) {
    kind = [classification.type, ...classification.parts.map(({ type }) => type).sort()].join("+");
    KINDS.set(classification, kind);
  }
  return `${direction}+${kind}`;
}
