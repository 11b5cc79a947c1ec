/** What is to be done for a ban now: the rung that is due, what stands in for it when it is refused, and the rules. Pure. */
import type { GroupMitigation, RouteTerms } from "../config/mitigation-section.ts";
import { type Attack, isActive } from "../detection/attack.ts";
import type { Classification } from "../detection/classifier.ts";
import type { SampledPacket } from "../detection/sample.ts";
import type { Prefix } from "../net/prefix.ts";
import type { UnicastRoute } from "./announcer.ts";
import type { Ban, Plan } from "./ban.ts";
import { type Action, dueStep, isMilder, methodOf } from "./escalation.ts";
import { type FlowspecMeasure, type Measure, NO_MEASURE, withAction } from "./measure.ts";
import type { Rule } from "./rule.ts";

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

export interface Circumstances {
  /** Those that hold the ban, with what is known of them. */
  readonly attacks: readonly Attack[];
  /** Why neighbors do not get what is done now; null: they do, or it is not known. */
  readonly refusal: string | null;
  /** It has just been told from more packets what an attack is. */
  readonly isToldAnew: boolean;
  readonly packetsOf: (attack: Attack) => readonly SampledPacket[];
  readonly makeRules: RuleMaker;
  /** How long rules wait until it can be told what the attack is. */
  readonly evidenceWaitMs: number;
}

export type PlannedBan = Pick<Ban, "prefix" | "manual" | "dryRun" | "countedFrom"> & Plan;

export function planOf(ban: PlannedBan, terms: BanTerms, circumstances: Circumstances, wallMs: number): Plan {
  const { ladder } = terms;
  const step = dueStep(ladder, wallMs - ban.countedFrom, ban.manual);
  const action = ladder[step]?.action ?? "none";
  const fallback = fallbackCause(ban, { step, action }, terms, circumstances.refusal);
  const done = fallback === null ? action : terms.ban.fallback;
  return {
    step,
    method: done === "none" ? methodOf(ladder, step) : done,
    measure: measureOf(done, ban, terms, circumstances, wallMs),
    fallback,
  };
}

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
  if (ban.fallback !== null && (step === ban.step || !isMilder(fallback, action))) return ban.fallback;
  if (refusal !== null && step === ban.step) return `bgp announce failed: ${refusal}`;
  if (action === "divert" && routeOf(ban.prefix, terms.divert) === null) {
    return `scrubbing has no next hop for IPv${ban.prefix.family}`;
  }
  return null;
}

function measureOf(
  action: Action,
  ban: PlannedBan,
  terms: BanTerms,
  circumstances: Circumstances,
  wallMs: number,
): Measure {
  switch (action) {
    case "none":
      return NO_MEASURE;
    case "blackhole":
      return { kind: action, route: routeOf(ban.prefix, terms.blackhole) };
    case "divert":
      return {
        kind: action,
        route: routeOf(ban.prefix, terms.divert),
        node: null,
        rules: rulesOf(ban, terms, circumstances, wallMs),
      };
    case "flowspec":
      return rulesOf(ban, terms, circumstances, wallMs);
    default:
      return action satisfies never;
  }
}

function routeOf(prefix: Prefix, terms: RouteTerms | null): UnicastRoute | null {
  const nextHop = (prefix.family === 4 ? terms?.nextHop : terms?.nextHop6) ?? null;
  if (terms === null || nextHop === null) return null;
  return { kind: "unicast", prefix, nextHop, communities: terms.communities, localPref: terms.localPref };
}

/** Rules wait a moment for the first judgement of what the attack is, and stay until that becomes another. */
function rulesOf(
  { prefix, measure }: PlannedBan,
  terms: BanTerms,
  { attacks, isToldAnew, packetsOf, makeRules, evidenceWaitMs }: Circumstances,
  wallMs: number,
): FlowspecMeasure {
  const { flowspec } = terms;
  const localPref = localPrefOf(terms);
  const known = measure.kind === "divert" ? measure.rules : measure;
  const present = known.kind === "flowspec" && known.rules.length > 0 ? known : null;
  const told = attacks.filter(({ classification }) => classification !== null);
  if (present?.basis === basisOf(terms, told) && !isToldAnew) return present;
  const seen = told
    .map((attack) => ({ attack, packets: packetsOf(attack) }))
    .filter(({ packets }) => packets.length > 0);
  // The attack is over and the ban is not, or a service that starts has seen no packets yet: what to match is as it was.
  if (present !== null && seen.length === 0) return withAction(present, flowspec.action, localPref);
  const basis = basisOf(
    terms,
    seen.map(({ attack }) => attack),
  );
  if (present?.basis === basis && !isToldAnew) return present;
  const isEarly = attacks.some((attack) => isActive(attack) && isYoung(attack, evidenceWaitMs, wallMs));
  if (seen.length === 0 && isEarly) return { kind: "flowspec", rules: [], matchesAll: false, localPref, basis };
  const evidence = seen.length > 0 ? seen : attacks.map((attack) => ({ attack, packets: [] }));
  return { kind: "flowspec", ...makeRules(prefix, evidence, flowspec), localPref, basis };
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
