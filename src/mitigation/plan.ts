/** Plans a ban: the rung that is due, its substitute when it is refused, and the rules. Pure. */
import type { Attack } from "../detection/attack/attack.ts";
import { type Classification, TCP_FLOODS } from "../detection/attack/classifier.ts";
import type { Vector } from "../detection/attack/vector.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { UnicastRoute } from "./announcer.ts";
import { ALL_NODES_LOST, type Ban, hasNoScrubTarget, type Plan } from "./ban.ts";
import { isOneAddress } from "./ban-subject.ts";
import type { BanTerms, Circumstances, NodeTarget } from "./circumstances.ts";
import { diverterOf } from "./diversion.ts";
import { enclosingOf } from "./enclosing.ts";
import { type Action, dueStep, isLessSevere, methodOf, STRICTER_MS } from "./escalation.ts";
import {
  type FlowspecMeasure,
  foundNone,
  type Measure,
  type NeighborRules,
  NO_MEASURE,
  NO_RULES_FOUND,
  type NodeRules,
  narrowRules,
  routesOf,
} from "./measure.ts";
import type { RouteTerms } from "./mitigation-config.ts";
import { observedOf, rulesOf } from "./planned-rules.ts";
import type { ScrubConfig } from "./scrub/scrub-config.ts";
import type { ScrubFilter } from "./scrub/scrub-filter.ts";

type PlannedBan = Plan &
  Pick<Ban, "prefix" | "manual" | "operator" | "tenant" | "dryRun" | "countedFrom" | "attackId" | "heldBy" | "ordered">;

/** The plan for a ban. If hasNoScrubTarget(plan) holds, the ban ends or does not start. */
export function planOf(ban: PlannedBan, terms: BanTerms, circumstances: Circumstances, wallMs: number): Plan {
  const { countedFrom, manual: isManual } = ban;
  const { rung } = circumstances;
  const step = dueStep(terms.ladder, { elapsedMs: wallMs - countedFrom, isManual, step: ban.step, ...rung });
  const plan = planAt(step, ban, terms, circumstances, wallMs);
  // A ban that already acts keeps its rung if the next one has no scrub target, or no next hop for its family.
  const isChanging = step > ban.step || (rung.isEased && step < ban.step);
  const isDoing = isChanging && (!ban.manual || ban.measure.kind !== "none");
  const isIdle = hasNoScrubTarget(plan) ? isDoing : isChanging && hasNoNextHop(plan, terms) && isActing(ban);
  return isIdle ? planAt(ban.step, ban, terms, circumstances, wallMs) : plan;
}

/** Routes are configured, and none for this family. */
function hasNoNextHop({ measure }: Plan, terms: BanTerms): boolean {
  const isUnicast = measure.kind === "divert" || measure.kind === "blackhole";
  const isHooked = measure.kind === "divert" && measure.diversion !== undefined;
  return isUnicast && !isHooked && measure.route === null && terms[measure.kind] !== null;
}

function isActing({ measure, prefix }: PlannedBan): boolean {
  const isHooked = measure.kind === "divert" && measure.diversion !== undefined;
  return measure.kind === "scrub" || isHooked || routesOf(measure, prefix).length > 0;
}

function planAt(step: number, ban: PlannedBan, terms: BanTerms, circumstances: Circumstances, wallMs: number): Plan {
  const action = terms.ladder[step]?.action ?? "none";
  let made: FlowspecMeasure | null = null;
  const rules = () => {
    made ??= rulesOf(ban, terms, circumstances, wallMs);
    return made;
  };
  let announced: ReturnType<typeof announcedRules> | null = null;
  const routed = () => {
    announced ??= announcedRules(ban, terms, circumstances, rules());
    return announced;
  };
  const refused = fallbackCause(ban, { step, action }, terms, circumstances);
  const missingOf = (wanted: Action) => {
    if (wanted === "divert") return notDiverted(ban, terms, circumstances);
    return wanted === "flowspec" && areWithoutRules(step, ban, circumstances, rules, routed) ? NO_RULES_FOUND : null;
  };
  const missing = refused === null ? missingOf(action) : null;
  const isWithout = missing !== null;
  // The next rung at once, and on the last one the fallback.
  const next = isWithout && step + 1 < terms.ladder.length ? planAt(step + 1, ban, terms, circumstances, wallMs) : null;
  if (next !== null && !hasNoScrubTarget(next) && !hasNoNextHop(next, terms)) return next;
  const cause = isWithout && hasFallback(ban, action, terms) ? missing : refused;
  const wanted = cause === null ? action : terms.ban.fallback;
  const scrubber = wanted === "divert" ? scrubberFor(ban, terms, circumstances, rules) : null;
  const { done, fallback } = divertSubstitute(wanted, scrubber, ban, {
    terms,
    isHooked: circumstances.isHooked,
  }) ?? { done: wanted, fallback: cause };
  if (done === null) return { step, method: "divert", measure: NO_MEASURE, fallback };
  return {
    step,
    method: done === "none" ? methodOf(terms.ladder, step) : done,
    measure: done === "flowspec" ? routed().measure : measureOf(done, scrubber, ban, terms, circumstances, rules),
    fallback,
  };
}

/**
 * Whether rules were looked for on this rung and none was found, so that it does nothing. A ban that went on for that
 * reason comes back only if newer packets show rules that are known to spare users: it must not change to and fro.
 */
function areWithoutRules(
  step: number,
  { step: present, fallback }: PlannedBan,
  { evidence, rung }: Circumstances,
  rules: () => FlowspecMeasure,
  routed: () => { readonly isNone: boolean },
): boolean {
  const wentOn = (step < present && !rung.isEased) || (step === present && fallback === NO_RULES_FOUND);
  if (!wentOn) return foundNone(rules()) || routed().isNone;
  return evidence === "same" || rules().separability?.verdict !== "yes" || routed().isNone;
}

/** No others are looked for in place of rules that an operator ordered. */
function searchOf(isSame: boolean, ordered: BanTerms["ordered"], circumstances: Circumstances) {
  if (ordered !== undefined && ordered.rules.length > 0)
    return { isOutdated: !isSame, isFixed: true as const, observed: () => [] };
  return { isOutdated: !isSame || circumstances.evidence !== "same", observed: () => observedOf(circumstances) };
}

const NO_NEIGHBOR_RULES: readonly NeighborRules[] = [];

/** The rules with what neighbors have in place of them. */
function announcedRules(
  { prefix, measure }: PlannedBan,
  { flowspec, ordered }: BanTerms,
  circumstances: Circumstances,
  rules: FlowspecMeasure,
): { readonly measure: FlowspecMeasure; readonly isNone: boolean } {
  const before = measure.kind === "flowspec" ? measure : null;
  const { neighborRules: present = NO_NEIGHBOR_RULES, ...bare } = rules;
  const { rules: found, isNone } = circumstances.neighborRules({
    prefix,
    flowspec,
    rules: rules.rules,
    present: before?.neighborRules ?? NO_NEIGHBOR_RULES,
    ...searchOf(before?.rules === rules.rules, ordered, circumstances),
  });
  if (found === present || found.length + present.length === 0) return { measure: rules, isNone };
  return { measure: found.length === 0 ? bare : { ...bare, neighborRules: found }, isNone };
}

/** A virtual ban has no fallback (docs/interface.md). */
function hasFallback({ dryRun }: PlannedBan, action: Action, { ban: { fallback } }: BanTerms): boolean {
  return !dryRun && fallback !== "none" && fallback !== action;
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
  if (!hasFallback(ban, action, terms) || action === "none") return null;
  // The fallback stays for this rung, and for later ones unless they are more severe, until the method may be tried
  // again. The refusal then is not one of this method.
  const isFor = step === ban.step || (step > ban.step && !isLessSevere(fallback, action));
  const isKept = ban.fallback?.startsWith(REFUSED) === true && isFor;
  if (isKept) return isTakenAgain(action) ? null : ban.fallback;
  return refusal !== null && step === ban.step ? REFUSED + refusal : null;
}

/**
 * Why the prefix that is announced for the ban is not diverted; null: it is, as far as is known.
 * @param isBegunAgain nothing takes the place of a lost diversion, so that the ban wants it still.
 */
function notDiverted(
  ban: PlannedBan,
  { divert }: BanTerms,
  { enclosing, diversions, isHooked }: Circumstances,
  { isBegunAgain = false } = {},
): string | null {
  const { prefix } = ban;
  const wider = enclosingOf(prefix, divert?.enclosing);
  const refusal = wider === null ? null : enclosing.refusalOf(wider, ban, false);
  if (refusal !== null || !isHooked) return refusal;
  if (isBegunAgain && diversions.isLost(wider ?? prefix)) return null;
  return diversions.faultOf(wider ?? prefix, diverterOf(ban));
}

type Scrubber = { readonly route: UnicastRoute | null; readonly node: string | null };
type Scrubbing = Scrubber | Extract<NodeTarget, { kind: "lost" }>;

/** A scrub node if nodes are configured, else the next hop of the hostgroup's terms. */
function scrubberFor(
  { prefix, measure }: PlannedBan,
  terms: BanTerms,
  { divertTo, enclosing }: Circumstances,
  rules: () => FlowspecMeasure,
): Scrubbing {
  const announced = enclosingOf(prefix, terms.divert?.enclosing) ?? prefix;
  // Bans within one announced prefix share its route, and so the node.
  const own = measure.kind === "divert" ? measure.node : null;
  const currentNode = announced === prefix ? own : (enclosing.nodeOf(announced) ?? own);
  const target = divertTo({ prefix, group: terms.group, currentNode, rules: () => narrowRules(rules()) });
  if (target?.kind === "lost") return target;
  if (target?.kind === "none") return { route: null, node: null };
  const nextHop = target?.nextHop ?? nextHopOf(prefix, terms.divert);
  const route = routeOf(announced, terms.divert, nextHop, terms.ordered);
  return { route: route && { ...route, isDivert: true }, node: target?.name ?? null };
}

/** The substitute for a divert without a target (`done` null: nothing at all); null: no substitute is needed. */
function divertSubstitute(
  wanted: Action,
  scrubber: Scrubbing | null,
  { prefix, dryRun, ordered }: PlannedBan,
  { terms, isHooked }: { readonly terms: BanTerms; readonly isHooked: boolean },
): { readonly done: Action | null; readonly fallback: string } | null {
  if (scrubber === null) return null;
  if ("kind" in scrubber) {
    // Bans of prefixes, and of an ordered method, have no substitute.
    const isInstead = scrubber.instead !== "withdraw" && isOneAddress(prefix) && ordered?.method === undefined;
    return { done: isInstead ? scrubber.instead : null, fallback: scrubber.why ?? ALL_NODES_LOST };
  }
  const { fallback } = terms.ban;
  const isLeft = scrubber.route !== null || isHooked || dryRun || fallback === "none" || fallback === wanted;
  return isLeft ? null : { done: fallback, fallback: `scrubbing has no next hop for IPv${prefix.family}` };
}

function measureOf(
  action: Exclude<Action, "flowspec">,
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
      return blackholeOf(ban, terms, circumstances);
    case "divert": {
      const notAnnounced = notDiverted(ban, terms, circumstances, { isBegunAgain: true });
      const { route, node } = scrubber === null || "kind" in scrubber || notAnnounced ? NO_SCRUBBER : scrubber;
      const nodeRules = nodeRulesOf(ban, terms, circumstances, rules());
      const filter = terms.scrub.isOnNodes ? { filter: filterOf(ban, terms, circumstances) } : {};
      const announced = enclosingOf(prefix, terms.divert?.enclosing) ?? prefix;
      const hooked = circumstances.isHooked ? { diversion: announced } : {};
      const refused = notAnnounced === null ? hooked : { notAnnounced };
      return {
        kind: action,
        route,
        node,
        rules: rules(),
        ...refused,
        ...(nodeRules.length === 0 ? {} : { nodeRules }),
        ...filter,
      };
    }
    case "scrub":
      return { kind: action, rules: rules(), filter: scrubbedHere(ban, terms, circumstances) };
    default:
      return action satisfies never;
  }
}

function blackholeOf(ban: PlannedBan, { blackhole, ordered }: BanTerms, { enclosing }: Circumstances): Measure {
  const { prefix } = ban;
  const made = (announced: Prefix) => routeOf(announced, blackhole, nextHopOf(prefix, blackhole), ordered);
  const wider = enclosingOf(prefix, blackhole?.enclosing);
  const [route, wide] = [made(prefix), wider && made(wider)];
  if (route === null || wider === null || wide === null) return { kind: "blackhole", route };
  const refusal = enclosing.refusalOf(wider, ban, true);
  if (refusal !== null) return { kind: "blackhole", route: { ...route, notEnclosed: refusal } };
  return { kind: "blackhole", route, enclosing: { ...wide, encloses: prefix.length } };
}

/** A filter that is always in force stays in force as a whole. */
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
  const isGettingThrough = known?.tcp === "transparent" && rung.overThresholdMs >= STRICTER_MS;
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
  { flowspec, ordered }: BanTerms,
  circumstances: Circumstances,
  rules: FlowspecMeasure,
): readonly NodeRules[] {
  const before = measure.kind === "divert" ? measure : null;
  return circumstances.nodeRules({
    prefix,
    flowspec,
    rules: narrowRules(rules),
    present: before?.nodeRules ?? NO_NODE_RULES,
    ...searchOf(before?.rules === rules || before?.rules.rules === rules.rules, ordered, circumstances),
  });
}

const NO_NODE_RULES: readonly NodeRules[] = [];

function nextHopOf({ family }: Prefix, terms: RouteTerms | null): IpAddress | null {
  return (family === 4 ? terms?.nextHop : terms?.nextHop6) ?? null;
}

function routeOf(
  prefix: Prefix,
  terms: RouteTerms | null,
  nextHop: IpAddress | null,
  ordered: BanTerms["ordered"],
): UnicastRoute | null {
  if (terms === null || nextHop === null) return null;
  const { communities, communitiesAt, localPref } = terms;
  const { neighbors = null, communities: own = null } = ordered ?? {};
  const reach = {
    ...(neighbors !== null && { neighbors }),
    ...(own === null ? communitiesAt && { communitiesAt } : { areCommunitiesOrdered: true as const }),
  };
  return { kind: "unicast", prefix, nextHop, communities, localPref, ...reach };
}

interface Fallible {
  readonly wallMs: number;
  readonly onFault: (cause: unknown) => void;
}

/** The present plan if planning fails: the ban still becomes virtual or real. */
export function planOrCurrent(
  ban: PlannedBan,
  terms: BanTerms,
  circumstances: Circumstances,
  { wallMs, onFault }: Fallible,
): Plan {
  try {
    return planOf(ban, terms, circumstances, wallMs);
  } catch (cause) {
    onFault(cause);
    const { step, method, measure, fallback } = ban;
    return { step, method, measure, fallback };
  }
}
