/**
 * The FlowSpec rules of a ban as it is planned: made once the attack is classified, or of the counters after a short wait,
 * and kept while they are good enough. Pure.
 */
import { type Attack, isActive } from "../detection/attack/attack.ts";
import type { Classification } from "../detection/attack/classifier.ts";
import type { CountedAttack } from "../detection/attack/sampled-attack.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Ban } from "./ban.ts";
import type { BanTerms, Circumstances, FoundRequest, ObservedAttack, RuleMaker } from "./circumstances.ts";
import { type FlowspecMeasure, hasLooked, isSameRules, type RuleTerms, withTerms } from "./measure.ts";
import { orderedRules } from "./order/ordered-terms.ts";
import { type Rule, rulesText } from "./rules/rule.ts";

const ORDER_BASIS = "order";

/** Those that an operator ordered, or else those that are found. */
export function rulesOf(
  ban: Pick<Ban, "prefix" | "measure">,
  terms: BanTerms,
  circumstances: Circumstances,
  wallMs: number,
): FlowspecMeasure {
  const { ordered } = terms;
  if (ordered === undefined || ordered.rules.length === 0) return foundRulesOf(ban, terms, circumstances, wallMs);
  const rules = orderedRules(ordered.rules, ban.prefix, terms.flowspec.action);
  return { kind: "flowspec", rules, matchesAll: false, ...ruleTermsOf(terms), basis: ORDER_BASIS };
}

/**
 * Rules wait shortly for the first classification of the attack. They stay while they match the attack's packets and
 * no users.
 */
function foundRulesOf(
  { prefix, measure }: Pick<Ban, "prefix" | "measure">,
  terms: BanTerms,
  circumstances: Circumstances,
  wallMs: number,
): FlowspecMeasure {
  const { attacks, evidence, makeRules, evidenceWaitMs } = circumstances;
  const { flowspec, ordered } = terms;
  const ruleTerms = ruleTermsOf(terms);
  const known = measure.kind === "divert" || measure.kind === "scrub" ? measure.rules : measure;
  // Rules of an order are not what others are found beside.
  const present = known.kind === "flowspec" && hasLooked(known) && known.basis !== ORDER_BASIS ? known : null;
  const isEarly = attacks.some((attack) => isActive(attack) && isRecent(attack, evidenceWaitMs, wallMs));
  const settled = known.kind === "flowspec" && (present !== null || isEarly) ? known : null;
  if (settled?.basis === basisOf(terms, attacks.filter(isClassified)) && evidence === "same") return settled;
  const seen = observedOf(circumstances);
  // The attack ended before the ban, or a starting service has no packets yet: the match stays.
  if (present !== null && seen.length === 0)
    return withTerms(present, flowspec.action, ruleTerms, terms.ordered !== undefined);
  const basis = basisOf(
    terms,
    seen.map(({ attack }) => attack),
  );
  if (present?.basis === basis && evidence === "same") return present;
  if (seen.length === 0 && isEarly) return { kind: "flowspec", rules: [], matchesAll: false, ...ruleTerms, basis };
  const attacksSeen = seen.length > 0 ? seen : attacks.map((attack) => ({ attack, packets: [], profile: null }));
  const kept =
    present === null || present.matchesAll
      ? null
      : withTerms(present, flowspec.action, ruleTerms, terms.ordered !== undefined);
  // Those of the counters are no rules to keep to.
  const isCounted = present?.separability?.estimatedBy === null;
  const own = isCounted ? [] : (kept?.rules ?? []);
  const first = ordered === undefined ? firstRules(prefix, circumstances, flowspec) : null;
  const made = makeRules(prefix, attacksSeen, flowspec, first ?? own);
  if (made === null) return kept ?? present ?? untilFound(prefix, terms, circumstances, { basis, isEarly });
  const isUnread = seen.length === 0 && attacks.some((attack) => isWaitedFor(attack, evidenceWaitMs, wallMs));
  if (isUnread && made.matchesAll) return untilFound(prefix, terms, circumstances, { basis, isEarly: true });
  // Rules do not widen to all traffic of the victim.
  if (kept !== null && kept.rules.length > 0 && made.matchesAll) return { ...kept, basis };
  if (present !== null && isSameRules(present, made) && present.basis === basis) return present;
  return { kind: "flowspec", ...made, ...ruleTerms, basis };
}

/** Those of another brain, which are kept to as own ones are: routers need not carry two sets that are nearly the same. */
function firstRules(
  { text }: Prefix,
  { foreign }: Circumstances,
  { action }: BanTerms["flowspec"],
): readonly Rule[] | null {
  return foreign?.rulesOf(text)?.map((rule) => ({ ...rule, action })) ?? null;
}

/** Returns the same as for an equal request before, unless the policy or the rules in force are others now. */
export function answering(answer: FoundRequest | null, makeRules: RuleMaker): RuleMaker {
  if (answer === null) return makeRules;
  const { request, found } = answer;
  return (prefix, attacks, flowspec, present) => {
    const isSameRequest = flowspec === request.flowspec && rulesText(present) === rulesText(request.present);
    return isSameRequest ? found : makeRules(prefix, attacks, flowspec, present);
  };
}

/** Until the rules are found: those of the counters after the wait, unless they would match all traffic. */
function untilFound(
  prefix: Prefix,
  terms: BanTerms,
  { attacks, makeRules }: Circumstances,
  { basis, isEarly }: { readonly basis: string; readonly isEarly: boolean },
): FlowspecMeasure {
  const unseen = attacks.map((attack) => ({ attack, packets: [], profile: null }));
  const counted = isEarly ? null : makeRules(prefix, unseen, terms.flowspec, []);
  const none = { rules: [], matchesAll: false };
  const made = counted === null || counted.matchesAll ? none : counted;
  return { kind: "flowspec", ...made, ...ruleTermsOf(terms), basis };
}

function isClassified({ classification }: Attack): boolean {
  return classification !== null;
}

/** The classified attacks with packets. */
export function observedOf({ attacks, observed }: Circumstances): readonly ObservedAttack[] {
  return attacks.filter(isClassified).flatMap((attack) => observed(attack) ?? []);
}

/** An order's communities are in place of those of the hostgroup. */
function ruleTermsOf({ blackhole, flowspec: { communities, routers }, ordered }: BanTerms): RuleTerms {
  const own = ordered?.communities ?? null;
  const neighbors = ordered?.neighbors ?? null;
  return {
    localPref: blackhole?.localPref ?? 0,
    ...(own === null ? communities && { communities } : { communities: own, areCommunitiesOrdered: true }),
    ...(routers && { routers }),
    ...(neighbors !== null && { neighbors }),
  };
}

/** Cached by terms: with thousands of bans, each is requested several times per second. */
const TERMS_TEXTS = new WeakMap<BanTerms, string>();

function basisOf(terms: BanTerms, attacks: readonly CountedAttack[]): string {
  let text = TERMS_TEXTS.get(terms);
  if (text === undefined) {
    text = JSON.stringify([terms.flowspec, ruleTermsOf(terms)]);
    TERMS_TEXTS.set(terms, text);
  }
  const [first, ...others] = attacks;
  if (first === undefined) return text;
  return others.length === 0 ? `${text} ${kindOf(first)}` : [text, ...new Set(attacks.map(kindOf))].join(" ");
}

/** Whether its packets may still come, where the counters know nothing narrower than all traffic of the victim. */
function isWaitedFor(attack: Attack, evidenceWaitMs: number, wallMs: number): boolean {
  return isActive(attack) && isRecent(attack, WAITS_FOR_ALL * evidenceWaitMs, wallMs);
}

/** If there are very many attacks, the last one is read this many times later than a single one. */
const WAITS_FOR_ALL = 3;

/** False when the clock was set back to before the start. */
function isRecent({ startedAt }: Attack, forMs: number, wallMs: number): boolean {
  return wallMs >= startedAt && wallMs - startedAt < forMs;
}

/** Cached by classification. */
const KINDS = new WeakMap<Classification, string>();

/** The part of a classification that rules depend on: a change of shares alone makes no new rules. */
function kindOf({ direction, classification }: CountedAttack): string {
  if (classification === null) return direction;
  let kind = KINDS.get(classification);
  if (kind === undefined) {
    kind = [classification.type, ...classification.parts.map(({ type }) => type).sort()].join("+");
    KINDS.set(classification, kind);
  }
  return `${direction}+${kind}`;
}
